"""Steps through the drivers: numbers out and back within the bound, what is not within it reported, and where there is no
stage a step refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.sim.engine.driver import Descriptor, DriverError, Mode, Status
from tests.support.model_bench import BACK, DEV, OUT, ModelBench

LOSSY = EngineConfig(format=Format(word_bits=8), lanes=8, ring_entries=16, lossy="fp32")


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


@pytest.mark.parametrize("mode", [Mode.RAW, Mode.ZVC])
def test_an_odd_number_of_integers_of_half_a_byte(start, mode):
    config = replace(LOSSY, format=Format(4, align=4))
    bench = start(config)
    assert bench.driver.geometry.word_bits == 4
    numbers = np.arange(-7, 8, dtype=np.float32)
    bench.dev.write(DEV, numbers.tobytes())
    step = config.quantisation.step(0)
    out = bench.driver.offload.transfer(Descriptor(DEV, OUT, numbers.nbytes, 4096, mode, step=step))
    assert (out.status, out.bytes_written) == (Status.OK, 8 if mode is Mode.RAW else 12)
    back = Descriptor(
        OUT, BACK, numbers.nbytes, numbers.nbytes, mode, compressed_length=out.bytes_written, step=step
    )
    assert bench.driver.prefetch.transfer(back).status is Status.OK
    assert bench.dev.read(BACK, numbers.nbytes) == numbers.tobytes()


@pytest.mark.parametrize("mode", [Mode.RAW, Mode.ZVC])
def test_numbers_come_back_within_the_bound(start, mode):
    bench = start(LOSSY)
    assert (bench.driver.geometry.lossy, bench.driver.geometry.keep_nonzero) == ("fp32", False)
    numbers = np.random.default_rng(1).uniform(-3, 3, 100).astype(np.float32)
    bench.dev.write(DEV, numbers.tobytes())
    step = LOSSY.quantisation.step(-5)
    out = bench.driver.offload.transfer(Descriptor(DEV, OUT, numbers.nbytes, 4096, mode, step=step))
    assert (out.status, out.range_count, out.range_first) == (Status.OK, 0, 0)
    assert out.bytes_written <= 100 + 100 // 8 + 4
    back = Descriptor(
        OUT, BACK, numbers.nbytes, numbers.nbytes, mode, compressed_length=out.bytes_written, step=step
    )
    assert bench.driver.prefetch.transfer(back).status is Status.OK
    got = np.frombuffer(bench.dev.read(BACK, numbers.nbytes), np.float32)
    assert np.abs(got - numbers).max() <= 2.0**-6


def test_numbers_beyond_the_bound_are_reported(start):
    bench = start(LOSSY)
    numbers = np.zeros(100, np.float32)
    numbers[[41, 70, 99]] = np.nan, 1e9, -np.inf
    bench.dev.write(DEV, numbers.tobytes())
    job = Descriptor(DEV, OUT, numbers.nbytes, 4096, step=LOSSY.quantisation.step(0))
    done = bench.driver.offload.transfer(job)
    assert (done.status, done.range_count, done.range_first) == (Status.LOSSY_RANGE, 3, 41)
    assert bench.driver.offload.transfer(replace(job, step=0)).status is Status.OK


def test_an_engine_without_refuses(start):
    bench = start(EngineConfig(ring_entries=16))
    with pytest.raises(DriverError, match="lossy"):
        bench.driver.offload.transfer(Descriptor(DEV, OUT, 64, 64, Mode.RAW, step=120))


@pytest.mark.parametrize("mode", [Mode.RAW, Mode.ZVC])
def test_a_prefetch_without_a_step_gives_the_integers_for_any_type(start, mode):
    """docs/lossy.md: the way for numbers of another type than the engine's."""
    bench = start(LOSSY)
    numbers = np.random.default_rng(2).uniform(-3, 3, 104).astype(np.float32)
    bench.dev.write(DEV, numbers.tobytes())
    step = LOSSY.quantisation.step(-5)
    out = bench.driver.offload.transfer(Descriptor(DEV, OUT, numbers.nbytes, 4096, mode, step=step))
    back = Descriptor(OUT, BACK, 104, 104, mode, compressed_length=out.bytes_written)
    # What is raw and has no step is as long as it is.
    whole = replace(back, compressed_length=0) if mode is Mode.RAW else back
    assert bench.driver.prefetch.transfer(whole).status is Status.OK
    integers = np.frombuffer(bench.dev.read(BACK, 104), np.int8)
    halves = integers.astype(np.float16) * np.float16(2.0**-5)
    assert np.abs(halves - numbers).max() <= 2.0**-6
    restored = replace(back, length=numbers.nbytes, capacity=numbers.nbytes, step=step)
    assert bench.driver.prefetch.transfer(restored).status is Status.OK
    got = np.frombuffer(bench.dev.read(BACK, numbers.nbytes), np.float32)
    assert (got == halves).all()
    # Integers of 8 bits have no more digits than bf16, so an engine for fp32 restores numbers of bf16.
    assert not (got.view(np.uint32) & 0xFFFF).any()
