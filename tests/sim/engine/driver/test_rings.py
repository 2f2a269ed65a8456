"""Rings by both drivers: order, room, wraps, and completions that are lost. Both drivers on an engine that writes its
interrupts. Both drivers on an engine with several queue pairs, each of which is an engine of its own to its software.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map
from cdma.sim.engine.driver import Driver, DriverError, EngineError, Mode, RingMemory, Status
from cdma.sim.engine.memory import BusError, Descriptor, Memory
from cdma.sim.engine.model import PairsModel
from tests.support.c_driver_library import CDriver, built
from tests.support.stream_bench import DEV, HOST, OUT, RINGS, SIZE, WINDOWS, ModelBench


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from((2, 4, 16)),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=40),
)
def test_any_pace_keeps_order_round_the_ring(driver, entries, pace):
    """Submissions, engine and polling in any interleaving: every completion once, in order, rings
    wrapping."""
    bench = ModelBench(EngineConfig(ring_entries=16), driver)
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


def test_a_full_ring_refuses_and_long_traffic_wraps_the_index_itself(driver):
    bench = ModelBench(EngineConfig(ring_entries=4), driver)
    bench.start(4)
    channel = bench.driver.offload
    for tag in range(50):
        assert channel.transfer(Descriptor(DEV, OUT, 4, 64, tag=tag)).tag == tag
    descriptors = [Descriptor(DEV, OUT, 64, 4096, tag=tag) for tag in range(5)]
    with pytest.raises(DriverError):
        channel.submit(*descriptors)
    channel.submit(*descriptors[:4])
    bench.model.run()
    assert channel.room == 0
    assert len(channel.wait(4)) == 4
    assert channel.room == 4


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
    with pytest.raises(DriverError):
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
    with pytest.raises(DriverError):
        channel.poll("registers")
    assert channel.error() == EngineError(Status.COMPLETION_DECERR, 8, slot)
    assert [done.tag for done in channel.wait(1)] == [9]
    assert channel.counters()["errors"] == 2


CONFIG = EngineConfig(ring_entries=16, channels=2, msi=True)
#: Where messages go: outside of the window.
CELL = HOST + SIZE
DATA = 0xC0FFEE


class Host(Memory):
    """Host memory that counts its messages."""

    messages = 0

    def write(self, address: int, data: bytes) -> None:
        super().write(address, data)
        if address >= CELL:
            assert data == DATA.to_bytes(4, "little")
            self.messages += 1


class Bench:
    """The second pair of an engine, with a driver."""

    def __init__(self, make: Any, config: EngineConfig = CONFIG) -> None:
        self.bytes = bytearray(SIZE + 64)
        self.host = Host(self.bytes, HOST)
        model = PairsModel(config, Memory(bytearray(SIZE), DEV), self.host)
        self.driver = make(model, windows=WINDOWS, idle=model.step, channel=config.channels - 1)
        self.channel = self.driver.offload

    def start(self) -> None:
        rings = RingMemory(HOST, memoryview(self.bytes)[:RINGS])
        self.channel.start(rings, 8, interrupts=True)

    def run(self, *lengths: int) -> int:
        """Runs descriptors of so many bytes, and gives the messages that have come."""
        before = self.host.messages
        for tag, length in enumerate(lengths):
            made = Descriptor(DEV, HOST + RINGS, length, 256, Mode.RAW, tag=tag, interrupt=True)
            self.channel.submit(made)
        self.channel.wait(len(lengths))
        return self.host.messages - before


@pytest.fixture(params=["python", "c"])
def make(request: pytest.FixtureRequest) -> Any:
    return Driver if request.param == "python" else partial(CDriver, built())


def test_each_event_is_a_message_whether_its_bit_was_set_before_or_not(make: Any) -> None:
    bench = Bench(make)
    bench.start()
    assert bench.run(64) == 0, "none before software says where"
    bench.channel.set_message(CELL + 4, DATA)
    assert bench.host.messages == 1, "the bit is set already"
    # Of a refused one there are two events: the error, and its completion.
    assert (bench.run(64), bench.run(64, 64), bench.run(0)) == (1, 2, 2)
    bench.channel.set_message(CELL + 4, DATA, enable=False)
    assert bench.run(64) == 0


def test_a_soft_reset_leaves_where_messages_go(make: Any) -> None:
    bench = Bench(make)
    bench.channel.set_message(CELL, DATA)
    bench.driver.soft_reset()
    bench.start()
    assert bench.run(64) == 1


def test_a_message_that_fails_is_told_of(make: Any) -> None:
    bench = Bench(make)
    bench.start()
    bench.channel.set_message(CELL, DATA)
    bench.host.faults[CELL] = "SLVERR"
    assert bench.run(64) == 0
    assert [bench.channel.message_failed() for _ in range(2)] == [True, False]
    del bench.host.faults[CELL]
    assert bench.run(64) == 1
    assert not bench.channel.message_failed()


def test_a_locked_window_locks_messages(make: Any) -> None:
    bench = Bench(make)
    bench.channel.set_message(CELL, DATA)
    bench.driver.set_window("host", *WINDOWS["host"], lock=True)
    bench.start()
    for refused in ((CELL + 8, DATA), (CELL, DATA + 1), (HOST, DATA)):
        with pytest.raises(DriverError):
            bench.channel.set_message(*refused)
    with pytest.raises(DriverError):
        bench.channel.set_message(CELL, DATA, enable=False)
    assert bench.run(64) == 1


def test_invalid_messages_are_refused(make: Any) -> None:
    bench = Bench(make)
    narrow = Bench(make, EngineConfig(ring_entries=16, msi=True, host_address_bits=34))
    for channel, address in ((bench.channel, CELL + 2), (narrow.channel, 1 << 34)):
        with pytest.raises(DriverError):
            channel.set_message(address, DATA)
    narrow.channel.set_message((1 << 34) - 4, DATA)
    with pytest.raises(DriverError):
        Bench(make, EngineConfig(ring_entries=16)).channel.set_message(CELL, DATA)


PAIRS_CONFIG = EngineConfig(ring_entries=16, channels=3)
#: Bytes of both memories that each pair has.
OWN = SIZE // 4


def test_pairs_move_data_beside_each_other_and_reach_only_what_is_their_own(make: Any) -> None:
    host_bytes = bytearray(SIZE)
    dev, host = Memory(bytearray(SIZE), DEV), Memory(host_bytes, HOST)
    model = PairsModel(PAIRS_CONFIG, dev, host)
    drivers = []
    for number in range(PAIRS_CONFIG.channels):
        at = number * OWN
        windows = {"dev": (DEV + at, DEV + at + OWN - 1), "host": (HOST + at, HOST + at + OWN - 1)}
        driver = make(model, windows=windows, idle=model.step, channel=number)
        driver.offload.start(
            RingMemory(HOST + at, memoryview(host_bytes)[at : at + RINGS]), 4, interrupts=True
        )
        drivers.append(driver)
        dev.write(DEV + at, bytes([number + 1]) * 256)
    for number, driver in enumerate(drivers):
        at = number * OWN
        own = Descriptor(DEV + at, HOST + at + RINGS, 256, 256, Mode.RAW, tag=number, interrupt=True)
        foreign = Descriptor(DEV + (at + OWN) % (3 * OWN), HOST + at + RINGS, 256, 256, Mode.RAW)
        driver.offload.submit(own, foreign)
    found = [driver.offload.wait(2) for driver in drivers]
    for number, (own_done, foreign_done) in enumerate(found):
        assert (own_done.tag, own_done.status) == (number, Status.OK)
        assert foreign_done.status is Status.WINDOW
        assert host.read(HOST + number * OWN + RINGS, 256) == bytes([number + 1]) * 256
    assert model.irqs == [True] * 3
    drivers[1].soft_reset()
    assert model.irqs == [True, False, True]


def test_shares_are_set_with_the_first_pair(make: Any) -> None:
    model = PairsModel(PAIRS_CONFIG, Memory(bytearray(SIZE), DEV), Memory(bytearray(SIZE), HOST))
    first, last = (make(model, idle=model.step, channel=number) for number in (0, 2))
    first.prefetch.set_share(2, weight=200, priority=3)
    first.offload.set_limit(1, 1234)
    first.offload.set_limit_period(99_999)
    registers = register_map(PAIRS_CONFIG)
    names = ("prefetch_shares.share[2]", "offload_shares.limit[1]", "offload_shares.period")
    assert [model.read32(registers[name].address) for name in names] == [200 | 3 << 8, 1234, 99_999]
    for refused in (
        lambda: first.offload.set_share(3),
        lambda: first.offload.set_share(0, weight=256),
        lambda: first.offload.set_share(0, weight=0),
        lambda: first.offload.set_share(0, priority=4),
        lambda: first.offload.set_limit(0, 1 << 16),
        lambda: first.offload.set_limit_period(0),
        lambda: last.offload.set_share(0),
        lambda: last.offload.set_limit_period(5),
        lambda: make(model, idle=model.step, channel=3),
    ):
        with pytest.raises(DriverError):
            refused()
    with pytest.raises(BusError):
        model.read32(3 << 12)


def test_shares_of_many_pairs_are_in_banks(make: Any) -> None:
    config = replace(PAIRS_CONFIG, channels=64)
    model = PairsModel(config, Memory(bytearray(SIZE), DEV), Memory(bytearray(SIZE), HOST))
    first = make(model, idle=model.step, channel=0)
    numbers = (0, 7, 8, 63)
    for number in numbers:
        first.prefetch.set_limit(number, 100 + number)
        first.prefetch.set_share(number, weight=1 + number, priority=number % 4)
    registers = register_map(config)
    bank, shares, limits = (
        registers[f"prefetch_shares.{name}"].address for name in ("bank", "share[0]", "limit[0]")
    )
    for number in range(64):
        model.write32(bank, number // 8)
        found = [model.read32(first_of + 4 * (number % 8)) for first_of in (shares, limits)]
        assert found == ([1 + number | number % 4 << 8, 100 + number] if number in numbers else [1, 0])
