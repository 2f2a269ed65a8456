"""The whole engine: windows, reset, and what the driver imports."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from cdma.sim.codec.software import compress
from cdma.sim.codec.words import word_dtype
from cdma.sim.engine.descriptors import Descriptor
from cdma.sim.engine.driver import DriverError, Mode, Status
from tests.support.model_bench import (
    CONFIGS,
    DEV,
    HOST,
    OUT,
    SIZE,
    ModelBench,
    tensor,
)


@pytest.fixture(params=CONFIGS)
def bench(request) -> ModelBench:
    return ModelBench(CONFIGS[request.param])


def test_windows_lock_and_say_so(bench):
    driver = bench.driver
    driver.set_window("host", HOST, HOST + SIZE - 1, lock=True)
    with pytest.raises(
        DriverError, match="the window of host was to be 0x0 to 0xfff and is 0x200000000 to 0x20000ffff"
    ):
        driver.set_window("host", 0, 0xFFF)
    driver.soft_reset()
    with pytest.raises(DriverError, match="it is locked"):
        driver.set_window("host", 0, 0xFFF)
    with pytest.raises(DriverError, match="must begin and end on a boundary of 4 KiB"):
        driver.set_window("dev", 1, 0xFFF)
    if bench.config.dev_address_bits < 64:
        with pytest.raises(DriverError, match="the port has fewer address bits"):
            driver.set_window("dev", 1 << 50, (1 << 51) - 1)


def test_abort_stands_until_resume_and_soft_reset_forgets(bench):
    bench.start()
    channel = bench.driver.offload
    channel.abort()
    assert channel.halted
    channel.submit(Descriptor(DEV, OUT, 64, 4096))
    with pytest.raises(DriverError, match=r"1 completions of offload took longer than 0\.01 s; 0 came"):
        channel.wait(timeout=0.01)
    channel.resume()
    assert channel.wait()[0].status is Status.OK
    channel.submit(Descriptor(DEV, OUT, 64, 4096))
    with pytest.raises(DriverError, match="offload has 1 descriptors whose completions were not taken"):
        channel.start(bench.rings["offload"])
    bench.driver.soft_reset()
    channel.start(bench.rings["offload"], 4)
    assert channel.transfer(Descriptor(DEV, OUT, 64, 4096, tag=9)).tag == 9


@pytest.mark.parametrize("bench", ["fvc"], indirect=True)
def test_soft_reset_forgets_the_table(bench):
    """Words then come back wrong and nothing says so, as docs/engine.md warns, until the table is written again."""
    bench.start()
    raw = tensor(bench.config, 1000)
    bench.dev.write(DEV, raw)

    def length_of_a_transfer():
        descriptor = Descriptor(DEV, OUT, len(raw), SIZE // 4, Mode.FVC)
        return bench.driver.offload.transfer(descriptor).bytes_written

    bench.driver.offload.set_table(bench.config.format.values)
    expected = len(compress(np.frombuffer(raw, word_dtype(bench.config.format)), bench.config.format))
    assert length_of_a_transfer() == expected
    bench.driver.soft_reset()
    bench.start()
    first = replace(bench.config.format, values=bench.config.format.values[:1])
    assert length_of_a_transfer() == len(compress(np.frombuffer(raw, word_dtype(first)), first)) > expected
    bench.driver.offload.set_table(bench.config.format.values)
    assert length_of_a_transfer() == expected


def test_the_driver_needs_no_amaranth():
    code = "import sys, cdma.sim.engine.driver.driver, cdma.sim.engine.model; assert 'amaranth' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
