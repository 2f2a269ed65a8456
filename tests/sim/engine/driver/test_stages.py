"""CRCs and steps through the drivers: kept by software, compared by the engine, refused where the engine has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.container import crc32c
from cdma.sim.engine.driver import Descriptor, DriverError, Mode, Status
from tests.support.stream_bench import BACK, DEV, HOST, OUT, ModelBench

PLAIN = EngineConfig(ring_entries=16)
LOSSY = EngineConfig(format=Format(word_bits=8), lanes=8, ring_entries=16, lossy="fp32")

Start = Callable[[EngineConfig], ModelBench]


@pytest.fixture(params=[("python", True), ("python", False), ("c", True), ("c", False)], ids=str)
def start(request: pytest.FixtureRequest) -> Start:
    """Both drivers, with rings and with registers."""
    driver, rings = request.param

    def begin(config: EngineConfig) -> ModelBench:
        bench = ModelBench(config, driver)
        if rings:
            bench.start()
        else:
            bench.driver.offload.start_direct()
            bench.driver.prefetch.start_direct()
        return bench

    return begin


def back_of(job: Descriptor, packed: int, size: int) -> Descriptor:
    """The way back of what a descriptor has sent out."""
    return replace(job, source=OUT, destination=BACK, length=size, capacity=size, compressed_length=packed)


def test_a_flipped_literal_is_found(start: Start) -> None:
    bench = start(replace(PLAIN, crc=True))
    raw = np.arange(1, 101, dtype=np.uint32)
    bench.dev.write(DEV, raw.tobytes())
    job = Descriptor(DEV, OUT, raw.nbytes, 4096)
    out = bench.driver.offload.transfer(job)
    assert (out.status, out.crc) == (Status.OK, crc32c(raw.tobytes()))
    back = replace(back_of(job, out.bytes_written, raw.nbytes), check_crc=True, crc=out.crc)
    assert bench.driver.prefetch.transfer(back).status is Status.OK
    bench.host.buffer[OUT - HOST + 77] ^= 4
    done = bench.driver.prefetch.transfer(back)
    assert (done.status, done.address) == (Status.CRC_MISMATCH, 0)
    assert done.crc != out.crc
    assert bench.driver.prefetch.transfer(replace(back, check_crc=False)).status is Status.OK


@pytest.mark.parametrize("fields", [{"check_crc": True}, {"step": 120}], ids=str)
def test_an_engine_without_refuses(start: Start, fields: dict[str, int]) -> None:
    bench = start(PLAIN)
    job = Descriptor(DEV, OUT, 64, 64, Mode.RAW)
    assert bench.driver.offload.transfer(job).crc == 0
    with pytest.raises(DriverError):
        bench.driver.offload.transfer(replace(job, **fields))


@pytest.mark.parametrize("mode", [Mode.RAW, Mode.ZVC])
def test_an_odd_number_of_integers_of_half_a_byte(start: Start, mode: Mode) -> None:
    config = replace(LOSSY, format=Format(4, align=4))
    bench = start(config)
    numbers = np.arange(-7, 8, dtype=np.float32)
    bench.dev.write(DEV, numbers.tobytes())
    job = Descriptor(DEV, OUT, numbers.nbytes, 4096, mode, step=config.quantisation.step(0))
    out = bench.driver.offload.transfer(job)
    assert (out.status, out.bytes_written) == (Status.OK, 8 if mode is Mode.RAW else 12)
    back = back_of(job, out.bytes_written, numbers.nbytes)
    assert bench.driver.prefetch.transfer(back).status is Status.OK
    assert bench.dev.read(BACK, numbers.nbytes) == numbers.tobytes()


@pytest.mark.parametrize("mode", [Mode.RAW, Mode.ZVC])
def test_numbers_come_back_within_the_bound_and_as_integers_for_any_type(start: Start, mode: Mode) -> None:
    """docs/lossy.md: without a step a prefetch gives the integers, for numbers of another type than the engine's."""
    bench = start(LOSSY)
    numbers = np.random.default_rng(1).uniform(-3, 3, 104).astype(np.float32)
    bench.dev.write(DEV, numbers.tobytes())
    job = Descriptor(DEV, OUT, numbers.nbytes, 4096, mode, step=LOSSY.quantisation.step(-5))
    out = bench.driver.offload.transfer(job)
    assert (out.status, out.range_count, out.range_first) == (Status.OK, 0, 0)
    assert out.bytes_written <= 104 + 104 // 8 + 4
    back = back_of(job, out.bytes_written, numbers.nbytes)
    assert bench.driver.prefetch.transfer(back).status is Status.OK
    got = np.frombuffer(bench.dev.read(BACK, numbers.nbytes), np.float32)
    assert np.abs(got - numbers).max() <= 2.0**-6
    # Integers of 8 bits have no more digits than bf16, so an engine for fp32 restores numbers of bf16.
    assert not (got.view(np.uint32) & 0xFFFF).any()
    # What is raw and has no step is as long as it is.
    packed = 0 if mode is Mode.RAW else out.bytes_written
    whole = replace(back_of(job, packed, 104), step=0)
    assert bench.driver.prefetch.transfer(whole).status is Status.OK
    integers = np.frombuffer(bench.dev.read(BACK, 104), np.int8)
    assert (got == integers.astype(np.float16) * np.float16(2.0**-5)).all()


def test_numbers_beyond_the_bound_are_reported(start: Start) -> None:
    bench = start(LOSSY)
    numbers = np.zeros(100, np.float32)
    numbers[[41, 70, 99]] = np.nan, 1e9, -np.inf
    bench.dev.write(DEV, numbers.tobytes())
    job = Descriptor(DEV, OUT, numbers.nbytes, 4096, step=LOSSY.quantisation.step(0))
    done = bench.driver.offload.transfer(job)
    assert (done.status, done.range_count, done.range_first) == (Status.LOSSY_RANGE, 3, 41)
    assert bench.driver.offload.transfer(replace(job, step=0)).status is Status.OK
