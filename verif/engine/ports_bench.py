"""The memory ports of an engine: clock, memories, pauses, and the rules of AXI."""

from __future__ import annotations

import contextlib
import itertools
import logging
import random
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, Protocol

import cocotb
from cocotb.triggers import Event, RisingEdge, ValueChange

from cdma.hdl.spec.options import NO_CLOCKS, SIDEBAND_TARGETS, has_slices, reset_of
from cdma.sim.engine.transfer import DIRECTIONS
from cdma.verif.simulator.monitors.rules import UNKNOWN, level, unknowns_at

from .design import EngineDesign, RuleBook, clock_periods, resets_of
from .edges import Burst, Edges, End, Port
from .memory import SIZE, Memory

#: Bursts in flight beyond which a port takes no address.
_DEPTH = 3


class StreamEnd(Protocol):
    """The bench's end of a stream, in Python."""

    def step(self, cycle: int, in_reset: bool) -> None:
        """One rising edge: reads what it sees, and drives what comes after it."""


class PortsBench:
    """An engine between two memories.

    ``served``: The memories that the bench has.
    ``ends``: The bench's ends of streams.
    ``failure``: The first failure of anything that runs beside the test.
    """

    served: Sequence[str] = ("dev", "host")

    def __init__(self, dut: Any, design: EngineDesign, rng: random.Random) -> None:
        self.dut = dut
        self.config = design.config
        self.rng = rng
        self.rules_of_axi = RuleBook(dut, design.config)
        #: The ports of each memory.
        self.ports: dict[str, list[Port]] = {"dev": [], "host": []}
        self._design_ports = design.ports
        self.ends: list[StreamEnd] = []
        self._memory_ends: list[tuple[str, End]] = []
        self._alarms: dict[int, list[Event]] = {}
        self._readers: list[Event] = []
        self.failure: BaseException | None = None

    @property
    def cycles(self) -> int:
        return self.edges.cycles

    @property
    def pace(self) -> int:
        """Cycles, for each of one clock, in which every clock has an edge and crossings are passed."""
        return 1 if self.config.clocks == NO_CLOCKS else 8

    @property
    def slices(self) -> int:
        """The register slices that a request and its answer pass."""
        return sum(has_slices(self.config.register_slices, direction) for direction in ("in", "out"))

    async def start(self) -> None:
        dut = self.dut
        for name in ("cocotbext", "cocotb"):
            logging.getLogger(name).setLevel(logging.WARNING)
        for reset in resets_of(dut, self.config):
            reset.value = 0
        if self.config.clock_gates:
            dut.scan_enable.value = 0
        if self.config.quiescence:
            dut.qreqn.value = 1
        periods = self.periods()
        self.edges = Edges(dut, periods, self.rules_of_axi.wake, self.rules_of_axi.any_broken)
        self.memory = {name: self.make_memory() for name in ("dev", "host")}
        self._connect_memories()
        self.connect()
        cocotb.start_soon(self.blame(self._watch()))
        for clock in periods:
            ends = self.ends if clock == self.config.domains.core else []
            if ends or hasattr(dut, UNKNOWN):
                cocotb.start_soon(self.blame(self._step(clock, ends)))
        await self.after(5 * self.pace)
        await self.end_resets()
        await self.after(40)

    def periods(self) -> dict[str, tuple[int, int]]:
        """Half a period of each clock and its jitter, as :class:`.Edges` takes them."""
        return clock_periods(self.config, self.rng)

    async def end_resets(self) -> None:
        """Ends the reset of each clock, at different times."""
        resets = resets_of(self.dut, self.config)
        self.rng.shuffle(resets)
        for reset in resets:
            reset.value = 1
            if len(resets) > 1:
                await self.after(self.rng.randint(0, self.pace))

    def say(self, channel: str, target: str, values: dict[str, int]) -> None:
        """Sets the sideband of a channel's addresses, for data on a port or for its rings.

        1 and 2 on the host port are the rings of offload and prefetch, 3 and 4 their lists of pages, 5 and 6 their
        messages; offload reads device memory and writes host memory. 1 and 2 on a device port are bases of offload and
        prefetch.
        """
        number = DIRECTIONS.index(channel)
        # Lists of pages and messages have the IDs that further pairs' rings would have.
        of_rings = tuple(
            1 + number + 2 * pair for pair in range(max(3, 2 * self.config.channels + self.config.pages))
        )
        port, ids = ("host", of_rings) if target == "ring" else (target, (0,))
        data_way = "ar" if (channel == "offload") == (port == "dev") else "aw"
        for name, end in self._memory_ends:
            if name == port:
                for way in ("ar", "aw") if target == "ring" else (data_way,):
                    for id in ids:
                        end.expect(way, id, values)
                if port == "dev" and self.config.delta:
                    end.expect("ar", 1 + number, values)

    def bursts(self) -> Iterator[tuple[str, Burst]]:
        """The bursts that the memories have seen, and the port of each."""
        for _, end in self._memory_ends:
            for burst in end.port.bursts():
                yield end.name, burst

    def high(self, port: str) -> int:
        """Maps the memory at a multiple of its size, too, that the port can address; returns that."""
        config = self.config
        bits = config.dev_address_bits if port == "dev" else config.host_address_bits
        base = self.rng.randrange(max(1, (1 << bits) // SIZE)) * SIZE
        self.memory[port].repeat(base)
        return base

    def connect(self) -> None:
        """Connects everything beside the two memories, before reset ends."""
        raise NotImplementedError

    def make_memory(self) -> Memory:
        memory = Memory(self.rng)
        memory.depth = _DEPTH
        return memory

    def _connect_memories(self) -> None:
        """Connects ports to the memories; each of several answers for its own stripes."""
        ports_of = {"dev": self.config.dev_ports, "host": ("host",)}
        for name in self.served:
            for unit, port in enumerate(ports_of[name]):
                domains = self.config.domains
                clock = domains.host if name == "host" else domains.core
                end = self.edges.serve(self.memory[name], self.dut, f"m_axi_{port}", port, clock)
                if self.config.striped(name):
                    made = end.port
                    made.unit, made.units, made.stripe_bytes = (
                        unit,
                        self.config.units,
                        self.config.stripe_bytes,
                    )
                for way, member in itertools.product(
                    ("ar", "aw"), ("lock", *self.config.sideband.values(name))
                ):
                    end.look_beside(way, member)
                self._memory_ends.append((name, end))
                self.ports[name].append(end.port)
        for channel, target in itertools.product(DIRECTIONS, SIDEBAND_TARGETS):
            values = self.config.sideband.values(target)
            self.say(channel, target, {member: value for member, (_, value) in values.items()})

    @contextlib.contextmanager
    def blaming(self) -> Iterator[None]:
        """Keeps the first failure inside: the test itself only sees that it is cancelled."""
        try:
            yield
        except Exception as error:
            self.failure = self.failure or error
            self.edges.wake_at(0)
            raise

    async def blame(self, job: Awaitable[None]) -> None:
        """Runs a job beside the test, and keeps the first failure."""
        with self.blaming():
            await job

    async def _watch(self) -> None:
        woken = ValueChange(self.edges.wake)
        while True:
            await woken
            if self.failure is not None:
                raise self.failure
            if self.edges.broken:
                self.rules_of_axi.object()
            self.edges.check()
            if self.edges.recorded():
                readers, self._readers = self._readers, []
                for reader in readers:
                    reader.set()
            self.deliver()
            for cycle in sorted(cycle for cycle in self._alarms if cycle <= self.cycles):
                for alarm in self._alarms.pop(cycle):
                    alarm.set()
            self.edges.wake_at(min(self._alarms) if self._alarms else None)

    def deliver(self) -> None:
        """Passes what came at the other ports to whoever waits for it."""

    async def _step(self, clock: str, ends: Sequence[StreamEnd]) -> None:
        look_for_unknowns = unknowns_at(self.dut, self._design_ports, clock)
        edge = RisingEdge(getattr(self.dut, clock))
        out_of_reset = level(getattr(self.dut, reset_of(clock)))
        await self.after(2)
        while True:
            await edge
            in_reset = not out_of_reset()
            look_for_unknowns(in_reset)
            for end in ends:
                end.step(self.cycles, in_reset)

    async def after(self, cycles: int) -> None:
        """Waits for rising edges with one wake-up; cocotb's ClockCycles wakes up at each."""
        if cycles:
            await self._alarm(Event(), cycles)

    async def record(self, cycles: int) -> None:
        """Waits, for ``cycles`` at most, until a record has been written into a ring."""
        written = Event()
        self._readers.append(written)
        await self._alarm(written, cycles)

    async def _alarm(self, event: Event, cycles: int) -> None:
        """Waits for an event, for ``cycles`` at most."""
        cycle = self.cycles + cycles
        alarms = self._alarms.setdefault(cycle, [])
        alarms.append(event)
        self.edges.wake_at(min(self._alarms))
        await event.wait()
        alarms.remove(event)
        if not alarms:
            self._alarms.pop(cycle, None)

    def some_share(self, share: float | None) -> float:
        return self.rng.choice((0.0, 0.1, 0.5, 0.8)) if share is None else share

    def pauses(self, share: float | None = None) -> None:
        """Random back-pressure on all channels: ``share``, or a random one for each."""
        for port in (*self.ports["dev"], *self.ports["host"]):
            port.pauses.draw(lambda: self.some_share(share))

    def explain(self, error: BaseException) -> str:
        """The first failure in a sentence."""
        return f"cycle {self.cycles}: {self.failure or error!r}"

    def finish(self) -> None:
        """Objects to anything still in flight at the end."""
        if self.failure is not None:
            raise self.failure
        self.rules_of_axi.finish()
