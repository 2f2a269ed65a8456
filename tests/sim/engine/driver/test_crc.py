"""CRCs through the drivers: kept by software, compared by the engine, refused where the engine has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.engine.crc import crc32c
from cdma.sim.engine.driver import Descriptor, DriverError, Mode, Status
from tests.support.model_bench import BACK, DEV, HOST, OUT, ModelBench


@pytest.fixture(params=["rings", "registers"])
def start(request):
    def begin(config: EngineConfig) -> ModelBench:
        bench = ModelBench(config)
        if request.param == "rings":
            bench.start()
        else:
            bench.driver.offload.start_direct()
            bench.driver.prefetch.start_direct()
        return bench

    return begin


def test_a_flipped_literal_is_found(start):
    bench = start(EngineConfig(ring_entries=16, crc=True))
    raw = np.arange(1, 101, dtype=np.uint32)
    bench.dev.write(DEV, raw.tobytes())
    out = bench.driver.offload.transfer(Descriptor(DEV, OUT, raw.nbytes, 4096))
    assert (out.status, out.crc) == (Status.OK, crc32c(raw.tobytes()))
    back = Descriptor(
        OUT, BACK, raw.nbytes, raw.nbytes, compressed_length=out.bytes_written, check_crc=True, crc=out.crc
    )
    assert bench.driver.prefetch.transfer(back).status is Status.OK
    bench.host.buffer[OUT - HOST + 77] ^= 4
    done = bench.driver.prefetch.transfer(back)
    assert (done.status, done.address) == (Status.CRC_MISMATCH, 0)
    assert done.crc != out.crc
    assert bench.driver.prefetch.transfer(replace(back, check_crc=False)).status is Status.OK


def test_an_engine_without_refuses(start):
    bench = start(EngineConfig(ring_entries=16))
    job = Descriptor(DEV, OUT, 64, 64, Mode.RAW)
    assert bench.driver.offload.transfer(job).crc == 0
    for fields in ({"check_crc": True}, {"crc": 1}):
        with pytest.raises(DriverError, match="crc"):
            bench.driver.offload.transfer(replace(job, **fields))
