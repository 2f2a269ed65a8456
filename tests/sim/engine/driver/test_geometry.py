"""What the driver reads of an engine before anything else."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.codec.model import compress
from cdma.sim.engine.descriptors import Descriptor
from cdma.sim.engine.driver import Driver, DriverError, Geometry, Status
from tests.support.model_bench import (
    BACK,
    CONFIGS,
    DEV,
    OUT,
    ModelBench,
    tensor,
)


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def bench(request) -> ModelBench:
    return ModelBench(request.param)


def test_geometry_is_read_at_run_time(bench):
    config = bench.config
    assert bench.driver.geometry == Geometry(
        version=(1, 5),
        word_bits=config.format.word_bits,
        window=32,
        code_bits=config.format.code_bits,
        table_size=config.codec.table_size,
        lanes=8,
        field_bits=config.format.field_bits,
        rotate=config.format.rotate,
        zero=config.format.zero,
        align=config.format.align,
        dev_data_bits=config.dev_data_bits,
        dev_address_bits=config.dev_address_bits,
        dev_align=config.dev_data_bits // 8,
        host_data_bits=config.host_data_bits,
        host_address_bits=config.host_address_bits,
        host_align=config.host_data_bits // 8,
        burst_beats=config.burst_beats,
        outstanding=16,
        ring_entries=16,
        units=1,
        stripe_bytes=4096,
        crc=config.crc,
        lossy=config.lossy,
        keep_nonzero=config.keep_nonzero,
        sideband=config.sideband_registers,
        user_bits=config.sideband.axuser_bits if config.sideband_registers else 0,
    )


def test_an_engine_with_several_units_says_so_and_moves_whole_windows():
    bench = ModelBench(EngineConfig(ring_entries=16, units=4, stripe_bytes=1024))
    geometry = bench.driver.geometry
    assert (geometry.units, geometry.stripe_bytes, geometry.dev_align, geometry.host_align) == (
        4,
        1024,
        128,
        32,
    )


def test_an_engine_that_realigns_says_so_and_takes_any_word():
    bench = ModelBench(EngineConfig(ring_entries=16, alignment="word"))
    assert (bench.driver.geometry.dev_align, bench.driver.geometry.host_align) == (4, 4)
    bench.start()
    data = tensor(bench.config, 41)
    bench.dev.write(DEV + 28, data)
    there = bench.driver.offload.transfer(Descriptor(DEV + 28, OUT + 20, len(data), 4096))
    packed = compress(np.frombuffer(data, "<u4"), bench.config.format)
    assert (there.status, there.bytes_written) == (Status.OK, len(packed))
    assert bench.peek(bench.host, OUT + 16, len(packed) + 8) == b"\xa5" * 4 + packed + b"\xa5" * 4
    back = Descriptor(OUT + 20, BACK + 12, len(data), len(data), compressed_length=len(packed))
    assert bench.driver.prefetch.transfer(back).status is Status.OK
    assert bench.peek(bench.dev, BACK + 8, len(data) + 8) == b"\xa5" * 4 + data + b"\xa5" * 4
    beats = (7 + 41 + 7) // 8, (5 + len(packed) // 4 + 7) // 8
    counters = bench.driver.offload.counters()
    assert (counters["read_beats"], counters["write_beats"]) == beats
    # A header and 5 literals reach into the second beat, which does not fit: its first byte is reported.
    bench.dev.write(DEV + 28, b"\1" * 20)
    done = bench.driver.offload.transfer(Descriptor(DEV + 28, OUT + 20, 20, 16, tag=2))
    assert (done.status, done.bytes_written, done.address) == (Status.CAPACITY, 12, OUT + 32)
    odd = bench.driver.offload.transfer(Descriptor(DEV + 2, OUT, 20, 4096))
    assert (odd.status, odd.address) == (Status.ALIGNMENT, DEV + 2)


def test_another_device_or_version_is_not_driven(bench):
    class Other:
        def __init__(self, address, value):
            self.address, self.value = address, value

        def read32(self, address):
            return self.value if address == self.address else bench.model.read32(address)

        def write32(self, address, value):
            raise AssertionError("nothing may be written")

    with pytest.raises(DriverError, match="no engine here: the first register reads 0xdeadbeef"):
        Driver(Other(0, 0xDEADBEEF))
    with pytest.raises(DriverError, match=r"version 2\.1 of the register map; this driver knows version 1"):
        Driver(Other(4, 0x20001))
