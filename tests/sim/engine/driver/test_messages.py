"""Both drivers on an engine that writes its interrupts."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.engine.driver import Descriptor, Driver, DriverError, Mode, RingMemory
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import PairsModel
from tests.support.c_driver_library import CDriver, built
from tests.support.stream_bench import DEV, HOST, RINGS, SIZE, WINDOWS

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
