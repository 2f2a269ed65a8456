"""What both drivers do beside the transfers that they make on the RTL (tests/support/driver_exercise.py): refusals, large
counters, coalescing, pushes. CRCs and steps through the drivers: kept by software, compared by the engine, refused where
the engine has none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.registers.map import register_map
from cdma.sim.codec.container import crc32c
from cdma.sim.codec.model import compress
from cdma.sim.codec.words import word_dtype
from cdma.sim.engine.driver import DriverError, EngineError, Mode, Status
from cdma.sim.engine.memory import Descriptor
from tests.support.stream_bench import (
    BACK,
    CONFIGS,
    DEV,
    HOST,
    OUT,
    RINGS,
    SIZE,
    ModelBench,
    tensor,
)

#: The rules have a test of their own (test_transfer.py); here is how the drivers tell of them.
REFUSED = {
    "reserved mode": ({"mode": 3}, Status.RESERVED, 0),
    "odd length": ({"length": 65}, Status.LENGTH, 0),
    "raw into too little": ({"mode": Mode.RAW, "capacity": 32}, Status.CAPACITY, OUT + 32),
    "destination not aligned": ({"destination": OUT + 4}, Status.ALIGNMENT, OUT + 4),
    "source outside": ({"source": DEV + SIZE}, Status.WINDOW, DEV + SIZE),
    "capacity reaches outside": ({"capacity": SIZE}, Status.WINDOW, OUT),
}


@pytest.mark.parametrize(("changes", "status", "address"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_descriptor_is_refused_and_touches_nothing(bench, changes, status, address):
    bench.driver.set_window("dev", DEV, DEV + SIZE - 1)
    bench.driver.set_window("host", HOST, HOST + SIZE - 1)
    bench.start()
    before = bytes(bench.dev_bytes), bytes(bench.host_bytes[2 * RINGS :])
    good = {"source": DEV, "destination": OUT, "length": 64, "capacity": 4096}
    done = bench.driver.offload.transfer(Descriptor(**good | changes, tag=5))
    assert (done.tag, done.status, done.address, done.bytes_written) == (5, status, address, 0)
    assert (bytes(bench.dev_bytes), bytes(bench.host_bytes[2 * RINGS :])) == before
    assert bench.driver.offload.error() == EngineError(status, 5, address)
    assert not bench.driver.offload.halted
    assert bench.driver.offload.transfer(Descriptor(**good)).status is Status.OK
    bench.driver.offload.clear_error()
    assert bench.driver.offload.error() is None


def test_a_counter_past_32_bits_is_read_whole(bench):
    for value in (0x1_FFFFFFFF, 0x12345678_9ABCDEF0):
        bench.model.channels["prefetch"].counters["bytes_read"] = value
        assert bench.driver.prefetch.counters()["bytes_read"] == value


def test_interrupts_are_coalesced_by_count_and_by_time(bench):
    bench.start(16, interrupts=True, coalesce=(3, 50))
    channel = bench.driver.offload
    channel.submit(*(Descriptor(DEV, OUT, 64, 4096, tag=tag, interrupt=True) for tag in range(2)))
    for _ in range(8):
        bench.model.step()
    assert not bench.model.irq
    for _ in range(60):
        bench.model.step()
    assert bench.model.irq, "by time"
    assert len(channel.wait(2, "interrupt")) == 2
    assert not bench.model.irq
    channel.submit(*(Descriptor(DEV, OUT, 64, 4096, tag=tag, interrupt=tag != 1) for tag in range(4)))
    for _ in range(6):
        bench.model.step()
    assert not bench.model.irq, "the third does not count"
    for _ in range(2):
        bench.model.step()
    assert bench.model.irq, "by count"


def test_a_push_waits_for_the_one_before_and_goes_ahead_of_the_ring(bench):
    bench.start(8)
    channel = bench.driver.offload
    channel.submit(Descriptor(DEV, OUT, 64, 4096, tag=1))
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=2))
    bench.model.write32(register_map(bench.config)["push.tag"].address, 99)
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=3))
    assert [done.tag for done in channel.wait(3)] == [2, 3, 1]
    assert bench.driver.prefetch.counters()["descriptors"] == 0


def test_soft_reset_forgets_the_table(driver):
    """Words then come back wrong and nothing says so, as docs/engine.md warns, until the table is written again."""
    bench = ModelBench(CONFIGS["fvc"], driver)
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
