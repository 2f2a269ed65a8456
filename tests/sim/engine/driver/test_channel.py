"""Transfers on one channel: there and back, refused, failed, waited for, counted."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.base.errors import CdmaError
from cdma.sim.codec.model import analyse, compress
from cdma.sim.engine.descriptors import Descriptor
from cdma.sim.engine.driver import DriverError, EngineError, Mode, RingMemory, Status
from tests.support.model_bench import (
    BACK,
    CONFIGS,
    DEV,
    GUARD,
    HOST,
    OUT,
    RINGS,
    SIZE,
    ModelBench,
    stream_format,
    tensor,
)


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def bench(request) -> ModelBench:
    return ModelBench(request.param)


@pytest.mark.parametrize("how", ["memory", "registers", "interrupt"])
@pytest.mark.parametrize("rings", [True, False], ids=["rings", "direct"])
@pytest.mark.parametrize("mode", Mode)
def test_there_and_back(bench, how, rings, mode):
    if rings:
        bench.start(interrupts=how == "interrupt")
    else:
        bench.driver.offload.start_direct(interrupts=how == "interrupt")
        bench.driver.prefetch.start_direct(interrupts=how == "interrupt")
    for channel in (bench.driver.offload, bench.driver.prefetch):
        channel.set_table(bench.config.format.values)
    raw = tensor(bench.config, 1003)
    bench.dev.write(DEV, raw)
    words = np.frombuffer(raw, f"u{bench.config.format.word_bits // 8}")
    expected = raw if mode is Mode.RAW else compress(words, stream_format(bench.config, mode))

    done = bench.driver.offload.transfer(Descriptor(DEV, OUT, len(raw), SIZE // 4, mode, tag=77), how)
    assert (done.tag, done.status, done.bytes_read, done.bytes_written) == (
        77,
        Status.OK,
        len(raw),
        len(expected),
    )
    assert bench.peek(bench.host, OUT, len(expected)) == expected
    assert bench.peek(bench.host, OUT + len(expected), 64) == bytes([GUARD]) * 64
    if mode is Mode.ZVC:
        assert done.literals == analyse(words, stream_format(bench.config, mode)).literals

    back = Descriptor(
        OUT,
        BACK,
        len(raw),
        len(raw),
        mode,
        compressed_length=0 if mode is Mode.RAW else len(expected),
        tag=78,
    )
    done = bench.driver.prefetch.transfer(back, how)
    assert (done.tag, done.status, done.bytes_read, done.bytes_written) == (
        78,
        Status.OK,
        len(expected),
        len(raw),
    )
    assert bench.peek(bench.dev, BACK, len(raw)) == raw
    assert bench.peek(bench.dev, BACK + len(raw), 64) == bytes([GUARD]) * 64
    assert (bench.irq_waits > 0) == (how == "interrupt")
    assert not bench.model.irq


REFUSED = {
    "reserved mode": ({"mode": 3}, Status.RESERVED, 0),
    "no length": ({"length": 0}, Status.ZERO_LENGTH, 0),
    "odd length": ({"length": 65}, Status.LENGTH, 0),
    "too long": ({"length": (1 << 32) + 64}, Status.LENGTH, 0),
    "compressed length on offload": ({"compressed_length": 64}, Status.LENGTH, 0),
    "no capacity": ({"capacity": 0}, Status.CAPACITY, OUT),
    "raw into too little": ({"mode": Mode.RAW, "capacity": 32}, Status.CAPACITY, OUT + 32),
    "source not aligned": ({"source": DEV + 4}, Status.ALIGNMENT, DEV + 4),
    "destination not aligned": ({"destination": OUT + 4}, Status.ALIGNMENT, OUT + 4),
    "source outside": ({"source": DEV + SIZE}, Status.WINDOW, DEV + SIZE),
    "destination outside": ({"destination": 0}, Status.WINDOW, 0),
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


@pytest.mark.parametrize("halt", [False, True])
def test_errors_on_the_way_halt_or_not(bench, halt):
    bench.start(8, halt_on_error=halt)
    channel = bench.driver.offload
    bench.dev.faults[DEV + 100] = "SLVERR"
    bench.host.faults[OUT + 5] = "DECERR"
    channel.submit(
        Descriptor(DEV, OUT + 4096, 128, 4096, Mode.RAW, tag=1),
        Descriptor(DEV + 4096, OUT, 64, 4096, Mode.RAW, tag=2),
        Descriptor(DEV + 4096, OUT + 4096, 4096, 64, tag=3),
        Descriptor(DEV + 4096, OUT + 4096, 64, 4096, tag=4),
    )
    done = []
    while len(done) < 4:
        bench.model.run()
        done += channel.poll()
        assert channel.halted == (halt and len(done) < 4)
        if halt:
            channel.resume()
    beat = bench.config.dev_data_bits // 8
    assert [(c.tag, c.status, c.address) for c in done] == [
        (1, Status.READ_SLVERR, (DEV + 100) // beat * beat),
        (2, Status.WRITE_DECERR, OUT),
        (3, Status.CAPACITY, OUT + 4096 + 64),
        (4, Status.OK, 0),
    ]
    assert channel.error() == EngineError(Status.READ_SLVERR, 1, (DEV + 100) // beat * beat)


CORRUPT = {
    "cut": (lambda stream, last: stream[:-4], Status.STREAM_TRUNCATED),
    "too long": (lambda stream, last: stream + bytes(4), Status.STREAM_TRAILING),
    "code past the end": (
        lambda stream, last: stream[: last + 3] + bytes([stream[last + 3] | 0x80]) + stream[last + 4 :],
        Status.STREAM_CODE,
    ),
}


@pytest.mark.parametrize(("corrupt", "status"), CORRUPT.values(), ids=CORRUPT)
def test_corrupt_streams_end_with_their_kind(corrupt, status):
    bench = ModelBench(CONFIGS["default"])
    bench.start()
    raw = tensor(bench.config, 300)
    words = np.frombuffer(raw, "u4")
    form = stream_format(bench.config, Mode.ZVC)
    # The last window begins, with its header, after the whole ones.
    stream = corrupt(compress(words, form), len(compress(words[:288], form)))
    bench.host.write(OUT, stream)
    done = bench.driver.prefetch.transfer(
        Descriptor(OUT, BACK, len(raw), len(raw), Mode.ZVC, compressed_length=len(stream), tag=3)
    )
    assert (done.tag, done.status) == (3, status)
    assert done.bytes_written <= len(raw)
    assert bench.peek(bench.dev, BACK, done.bytes_written) == raw[: done.bytes_written]
    assert bench.peek(bench.dev, BACK + len(raw), 64) == bytes([GUARD]) * 64


def test_counters_add_up_and_clear(bench):
    bench.start(8)
    channel = bench.driver.offload
    raw = tensor(bench.config, 640)
    bench.dev.write(DEV, raw)
    done = [channel.transfer(Descriptor(DEV, OUT, len(raw), 8192)) for _ in range(3)]
    done.append(channel.transfer(Descriptor(DEV, OUT, 0, 8192)))
    counters = channel.counters()
    for name in ("bytes_read", "bytes_written", "literals", "cycles"):
        assert counters[name] == sum(getattr(c, name) for c in done), name
    assert (counters["descriptors"], counters["errors"], counters["raw_words"]) == (4, 1, 3 * 640)
    assert counters["read_beats"] == 3 * -(-len(raw) // (bench.config.dev_data_bits // 8))
    assert bench.driver.prefetch.counters()["descriptors"] == 0
    bench.driver.clear_counters()
    assert not any(channel.counters().values())


def test_held_counters_stand_still_while_they_count_on(bench):
    bench.start(8)
    channel = bench.driver.offload
    raw = tensor(bench.config, 64)
    bench.dev.write(DEV, raw)
    job = Descriptor(DEV, OUT, len(raw), 8192)
    channel.transfer(job)
    before = channel.counters()
    registers = bench.driver.registers
    registers.set("offload.counter_hold", hold=1)
    assert registers.fields("offload.counter_hold")["held"]
    channel.transfer(job)
    assert registers.read64("offload_counters.descriptors") == before["descriptors"] == 1
    registers.set("offload.counter_hold", hold=0)
    assert registers.read64("offload_counters.descriptors") == 2
    assert registers.read64("offload_counters.bytes_read") == 2 * before["bytes_read"]


def test_a_counter_past_32_bits_is_read_whole(bench):
    bench.model.channels["prefetch"].counters["bytes_read"] = 0x12345678_9ABCDEF0
    assert bench.driver.prefetch.counters()["bytes_read"] == 0x12345678_9ABCDEF0


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


def test_completions_that_came_before_a_timeout_are_kept(bench):
    bench.start(8)
    channel = bench.driver.offload
    channel.submit(Descriptor(DEV, OUT, 64, 4096, tag=1))
    bench.model.run()
    bench.model.channels["offload"].halted = True
    channel.submit(Descriptor(DEV, OUT, 64, 4096, tag=2))
    with pytest.raises(DriverError, match="1 came"):
        channel.wait(2, timeout=0.01)
    channel.resume()
    assert [done.tag for done in channel.wait(2)] == [1, 2]


WRONG = {
    "entries": (
        lambda b: b.start(3),
        "the rings are to have 3 entries; a power of two from 2 to 16 is allowed",
    ),
    "too many": (lambda b: b.start(32), "the rings are to have 32 entries"),
    "buffer": (
        lambda b: b.driver.offload.start(RingMemory(HOST, bytearray(100)), 4),
        "two rings of 4 entries take 512 bytes; the buffer has 100",
    ),
    "address": (
        lambda b: b.driver.offload.start(RingMemory(HOST + 8, bytearray(1000)), 4),
        "the rings are to be at 0x200000008; a multiple of 64 is needed",
    ),
    "coalesce": (lambda b: b.start(coalesce=(256, 0)), "coalesce is \\(256, 0\\)"),
    "table size": (lambda b: b.driver.offload.set_table([]), "the table has 0 values"),
    "table value": (lambda b: b.driver.offload.set_table([-1]), "its values must fit"),
    "no ring": (lambda b: b.driver.offload.submit(Descriptor(0, 0, 4, 4)), "offload has no ring"),
    "nothing owed": (
        lambda b: b.driver.offload.wait(),
        "1 completions are awaited from offload, which owes 0",
    ),
    "watchdog": (lambda b: b.driver.set_watchdog(-1), "the watchdog is -1 cycles"),
    "field": (
        lambda b: Descriptor(1 << 64, 0, 4, 4).pack(),
        "source is 18446744073709551616; the field has 64 bits",
    ),
}


@pytest.mark.parametrize(("act", "message"), WRONG.values(), ids=WRONG)
def test_invalid_calls_are_refused_with_the_reason(bench, act, message):
    with pytest.raises(CdmaError, match=message):
        act(bench)


def test_waiting_by_interrupt_needs_both_ends():
    bench = ModelBench(CONFIGS["default"])
    bench.start()
    bench.driver.offload.submit(Descriptor(DEV, OUT, 64, 4096))
    with pytest.raises(DriverError, match="needs a driver with wait_irq"):
        bench.driver.offload.wait(how="interrupt")
