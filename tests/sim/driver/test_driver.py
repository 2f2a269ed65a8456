"""The Python driver, against the register-level model of the engine."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.errors import CdmaError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.registers.map import register_map
from cdma.sim.codec.model import compress
from cdma.sim.driver import Driver, DriverError, EngineError, Geometry, Mode, RingMemory, Status
from cdma.sim.engine.descriptors import Completion, Descriptor
from cdma.sim.engine.memory import BusError, Memory
from cdma.sim.engine.model import EngineModel

FVC = EngineConfig(
    format=Format(word_bits=16, code_bits=2, values=(0, 7)),
    dev_data_bits=128,
    host_data_bits=64,
    burst_beats=4,
    dev_address_bits=40,
    host_address_bits=34,
    ring_entries=16,
)
CONFIGS = {"default": EngineConfig(ring_entries=16), "fvc": FVC}

DEV, HOST = 0x1000_0000, 0x2_0000_0000
SIZE = 1 << 16
RINGS = 8192
GUARD = 0xA5


class Bench:
    """A model between two memories full of guard bytes, and a driver for it."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.dev_bytes = bytearray([GUARD]) * SIZE
        self.host_bytes = bytearray([GUARD]) * SIZE
        self.dev, self.host = Memory(self.dev_bytes, DEV), Memory(self.host_bytes, HOST)
        self.model = EngineModel(config, self.dev, self.host)
        self.irq_waits = 0
        self.driver = Driver(self.model, idle=self.model.step, wait_irq=self.wait_irq)
        self.rings = {
            "offload": RingMemory(HOST, memoryview(self.host_bytes)[:RINGS]),
            "prefetch": RingMemory(HOST + RINGS, memoryview(self.host_bytes)[RINGS : 2 * RINGS]),
        }

    def wait_irq(self, timeout: float) -> None:
        self.irq_waits += 1
        for _ in range(1000):
            if self.model.irq:
                return
            self.model.step()

    def start(self, entries: int = 4, **options) -> None:
        self.driver.offload.start(self.rings["offload"], entries, **options)
        self.driver.prefetch.start(self.rings["prefetch"], entries, **options)

    def peek(self, memory: Memory, address: int, count: int) -> bytes:
        return bytes(memory.buffer[address - memory.base : address - memory.base + count])


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def bench(request) -> Bench:
    return Bench(request.param)


def tensor(config: EngineConfig, words: int, seed: int = 1) -> bytes:
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 200, words) * (rng.random(words) < 0.5)
    return values.astype(f"u{config.format.word_bits // 8}").tobytes()


def stream_format(config: EngineConfig, mode: Mode) -> Format:
    form = config.format
    return form if mode is Mode.FVC else Format(form.word_bits, form.window, form.code_bits, (0,))


OUT, BACK = HOST + 0x8000, DEV + 0x8000


def test_geometry_is_read_at_run_time(bench):
    config = bench.config
    assert bench.driver.geometry == Geometry(
        version=(1, 1),
        word_bits=config.format.word_bits,
        window=32,
        code_bits=config.format.code_bits,
        table_size=2**config.format.code_bits - 1,
        lanes=8,
        dev_data_bits=config.dev_data_bits,
        dev_address_bits=config.dev_address_bits,
        dev_align=config.dev_data_bits // 8,
        host_data_bits=config.host_data_bits,
        host_address_bits=config.host_address_bits,
        host_align=config.host_data_bits // 8,
        burst_beats=config.burst_beats,
        outstanding=16,
        ring_entries=16,
    )


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
        assert done.literals == np.count_nonzero(words)

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


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from((2, 4, 16)),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=40),
)
def test_any_pace_keeps_order_round_the_ring(entries, pace):
    """Submissions, engine and polling in any interleaving: every completion once, in order, rings
    wrapping."""
    bench = Bench(EngineConfig(ring_entries=16))
    bench.start(entries)
    channel = bench.driver.offload
    next_tag, seen = 0, []

    def take(how):
        for done in channel.poll(how):
            assert (done.status, done.bytes_read) == (Status.OK, 4 * (1 + done.tag % 7))
            seen.append(done.tag)

    for wanted, steps, by_registers in pace:
        count = min(wanted, channel.room)
        tags = range(next_tag, next_tag + count)
        channel.submit(*(Descriptor(DEV, OUT, 4 * (1 + tag % 7), 4096, Mode.RAW, tag=tag) for tag in tags))
        next_tag += count
        for _ in range(steps):
            bench.model.step()
        take("registers" if by_registers else "memory")
    while len(seen) < next_tag:
        bench.model.run()
        take("memory")
    assert seen == list(range(next_tag))
    assert channel.room == entries


def test_long_traffic_wraps_the_index_itself():
    bench = Bench(EngineConfig(ring_entries=4))
    bench.start(2)
    for tag in range(50):
        assert bench.driver.offload.transfer(Descriptor(DEV, OUT, 4, 64, tag=tag)).tag == tag


def test_a_full_ring_and_a_full_completion_ring_refuse(bench):
    bench.start(4)
    channel = bench.driver.offload
    descriptors = [Descriptor(DEV, OUT, 64, 4096, tag=tag) for tag in range(5)]
    with pytest.raises(DriverError, match="5 descriptors are too many: the ring of offload has room for 4"):
        channel.submit(*descriptors)
    channel.submit(*descriptors[:4])
    bench.model.run()
    assert channel.room == 0
    assert len(channel.wait(4)) == 4
    assert channel.room == 4


def test_an_engine_that_realigns_says_so_and_takes_any_word():
    bench = Bench(EngineConfig(ring_entries=16, alignment="word"))
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
    # A header and 5 literals reach into the second beat, which has no room: the first byte not written is told.
    bench.dev.write(DEV + 28, b"\1" * 20)
    done = bench.driver.offload.transfer(Descriptor(DEV + 28, OUT + 20, 20, 16, tag=2))
    assert (done.status, done.bytes_written, done.address) == (Status.CAPACITY, 12, OUT + 32)
    odd = bench.driver.offload.transfer(Descriptor(DEV + 2, OUT, 20, 4096))
    assert (odd.status, odd.address) == (Status.ALIGNMENT, DEV + 2)


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


def test_a_lost_completion_does_not_come_back_in_the_next_pass(bench):
    """Its slot still holds what the pass before wrote there, with just the phase that is due next."""
    bench.start(4)
    channel = bench.driver.offload

    def submit(*tags: int) -> None:
        channel.submit(*(Descriptor(DEV, OUT, 64, 4096, tag=tag) for tag in tags))
        bench.model.run()

    submit(0, 1, 2, 3)
    assert [done.tag for done in channel.poll()] == [0, 1, 2, 3]
    bench.host.faults[HOST + 4 * 64] = "SLVERR"
    submit(4)
    with pytest.raises(DriverError, match="not in memory"):
        channel.poll("registers")
    bench.host.faults.clear()
    submit(5, 6, 7)
    assert [done.tag for done in channel.poll()] == [5, 6, 7]
    channel.submit(Descriptor(DEV, OUT, 64, 4096, tag=8))
    assert channel.poll() == [], "nothing has been done yet"
    assert [done.tag for done in channel.wait()] == [8]


def test_rings_that_fail_are_told(bench):
    bench.start(4)
    channel = bench.driver.offload
    bench.host.faults[HOST + 64] = "SLVERR"
    channel.submit(*(Descriptor(DEV, OUT, 64, 4096, tag=tag) for tag in range(2)))
    bench.model.run()
    done = channel.poll("registers")
    assert [(c.tag, c.status, c.address) for c in done] == [
        (0, Status.OK, 0),
        (0, Status.FETCH_SLVERR, HOST + 64),
    ]
    assert channel.error() == EngineError(Status.FETCH_SLVERR, 0, HOST + 64)
    channel.clear_error()

    slot = HOST + 4 * 64 + 2 * 64
    bench.host.faults[slot] = "DECERR"
    channel.submit(*(Descriptor(DEV, OUT, 64, 4096, tag=tag) for tag in (8, 9)))
    bench.model.run()
    assert channel.poll() == []
    with pytest.raises(DriverError, match="a completion of offload has been written but is not in memory"):
        channel.poll("registers")
    assert channel.error() == EngineError(Status.COMPLETION_DECERR, 8, slot)
    assert [done.tag for done in channel.wait(1)] == [9]
    assert channel.counters()["errors"] == 2


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
    bench = Bench(CONFIGS["default"])
    bench.start()
    raw = tensor(bench.config, 300)
    words = np.frombuffer(raw, "u4")
    form = stream_format(bench.config, Mode.ZVC)
    # The last window begins, with its header, behind the whole ones.
    stream = corrupt(compress(words, form), len(compress(words[:288], form)))
    bench.host.write(OUT, stream)
    done = bench.driver.prefetch.transfer(
        Descriptor(OUT, BACK, len(raw), len(raw), Mode.ZVC, compressed_length=len(stream), tag=3)
    )
    assert (done.tag, done.status) == (3, status)
    assert done.bytes_written <= len(raw)
    assert bench.peek(bench.dev, BACK, done.bytes_written) == raw[: done.bytes_written]
    assert bench.peek(bench.dev, BACK + len(raw), 64) == bytes([GUARD]) * 64


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


def test_rings_outside_the_window_move_nothing(bench):
    bench.driver.set_window("host", OUT, OUT + 0xFFF)
    before = bytes(bench.host_bytes)
    bench.start()
    before = bytes(bench.host_bytes)
    bench.driver.offload._registers.write("offload.ring_tail", 1)
    bench.model.run()
    assert bench.driver.offload.error() == EngineError(Status.WINDOW, 0, HOST)
    assert bytes(bench.host_bytes) == before


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


def test_a_push_waits_for_the_one_before_and_goes_ahead_of_the_ring(bench):
    bench.start(8)
    channel = bench.driver.offload
    channel.submit(Descriptor(DEV, OUT, 64, 4096, tag=1))
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=2))
    bench.model.write32(register_map(bench.config)["push.tag"].address, 99)
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=3))
    assert [done.tag for done in channel.wait(3)] == [2, 3, 1]
    assert bench.driver.prefetch.counters()["descriptors"] == 0


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
    "table value": (lambda b: b.driver.offload.set_table([-1]), "its values must fit words"),
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
def test_what_cannot_be_is_refused_with_the_reason(bench, act, message):
    with pytest.raises(CdmaError, match=message):
        act(bench)


def test_waiting_by_interrupt_needs_both_ends():
    bench = Bench(CONFIGS["default"])
    bench.start()
    bench.driver.offload.submit(Descriptor(DEV, OUT, 64, 4096))
    with pytest.raises(DriverError, match="needs a driver with wait_irq"):
        bench.driver.offload.wait(how="interrupt")


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


def test_the_model_answers_slverr_where_no_register_is(bench):
    with pytest.raises(BusError, match="SLVERR at 0x800"):
        bench.model.read32(0x800)
    with pytest.raises(BusError, match="SLVERR at 0x800"):
        bench.model.write32(0x800, 1)


def test_records_survive_memory():
    done = Completion(0xFFFFFFFF, Status.ABORTED, 1 << 33, 3, 4, 5, 1 << 63)
    for phase in (0, 1):
        raw = done.pack(phase)
        assert raw[63] >> 7 == phase
        assert Completion.unpack(raw) == done


def test_the_driver_needs_no_amaranth():
    code = "import sys, cdma.sim.driver.driver, cdma.sim.engine.model; assert 'amaranth' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_direct_completions_are_taken_one_by_one(bench):
    channel = bench.driver.offload
    channel.start_direct()
    for tag in range(5):
        assert channel.transfer(Descriptor(DEV, OUT, 64, 4096, tag=tag)).tag == tag
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=8))
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=9))
    assert [done.tag for done in channel.wait(2)] == [8, 9]
