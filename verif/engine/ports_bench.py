"""The two memory ports of an engine: clock, memories, pauses, and the rules of AXI."""

from __future__ import annotations

import contextlib
import functools
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Iterator
from typing import Any, Protocol

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, RisingEdge

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.sideband import SIDEBAND_TARGETS
from cdma.hdl.spec.slices import has_slices
from cdma.sim.engine.transfer import DIRECTIONS
from cdma.verif.simulator.monitors.pins import level
from cdma.verif.simulator.monitors.unknowns import unknowns_at

from .design import EngineDesign
from .memory import SIZE, Memory
from .memory_pins import PERIOD_NS, MemoryPins
from .memory_port import Port
from .rule_book import RuleBook

__all__ = ["End", "PortsBench"]

#: Bursts in flight beyond which a port takes no address.
_DEPTH = 3


class End(Protocol):
    """The bench's end of a port. One coroutine steps all of them: each that woke up by itself would cost as much as all the
    work of a cycle."""

    def step(self, cycle: int, in_reset: bool) -> None:
        """Sees one rising edge: reads what it sees, and drives what comes after it."""


class PortsBench:
    """An engine between two memories.

    ``ends``
        Are the bench's ends of all ports.
    ``cycles``
        Counts clock cycles.
    ``failure``
        Is the first failure of anything that runs beside the test.
    """

    def __init__(self, dut: Any, design: EngineDesign, rng: random.Random) -> None:
        self.dut = dut
        self.config = design.config
        self.rng = rng
        self.rules_of_axi = RuleBook(dut, design.config)
        #: The bursts that the memories have seen: port, read or write, ID, beats, and whether they end with a page.
        self.bursts: Counter[tuple[str, str, int, int, bool]] = Counter()
        #: What the addresses of each channel say beside, by what they are for.
        self.said = {
            channel: {
                target: {name: value for name, (_, value) in self.config.sideband.values(target).items()}
                for target in SIDEBAND_TARGETS
            }
            for channel in DIRECTIONS
        }
        #: The ports of each memory.
        self.ports: dict[str, list[Port]] = {"dev": [], "host": []}
        self._look_for_unknowns = unknowns_at(dut, design.ports)
        self.ends: list[End] = []
        self._alarms: dict[int, list[Event]] = {}
        self.cycles = 0
        self.failure: BaseException | None = None

    @property
    def slices(self) -> int:
        """The register slices that a request and its answer pass."""
        return sum(has_slices(self.config.register_slices, direction) for direction in ("in", "out"))

    async def start(self) -> None:
        """Starts clock and memories, and resets."""
        dut = self.dut
        for name in ("cocotbext", "cocotb"):
            logging.getLogger(name).setLevel(logging.WARNING)
        dut.aresetn.value = 0
        cocotb.start_soon(Clock(dut.aclk, PERIOD_NS, unit="ns").start())
        self.memory = {name: self.make_memory() for name in ("dev", "host")}
        self._connect_memories()
        self.connect()
        await ClockCycles(dut.aclk, 2)
        cocotb.start_soon(self.blame(self._watch()))
        await ClockCycles(dut.aclk, 3)
        dut.aresetn.value = 1
        await ClockCycles(dut.aclk, 40)

    def _beside(self, port: str, way: str, id: int) -> dict[str, int]:
        """What docs/engine.md says of the addresses of an ID.

        1 and 2 on the host port are the rings of offload and prefetch; offload reads device memory and writes host memory.
        """
        if port == "host" and id:
            said = self.said[DIRECTIONS[id - 1]]["ring"]
        else:
            said = self.said[DIRECTIONS[(way == "ar") != (port == "dev")]][port]
        return {"lock": 0, **said}

    def _see_burst(
        self, name: str, port: str, way: str, id: int, address: int, beats: int, beat_bytes: int
    ) -> None:
        """Counts a burst at a port of a memory, and looks at what its address has beside."""
        for member, want in self._beside(name, way, id).items():
            got = int(getattr(self.dut, f"m_axi_{port}_{way}{member}").value)
            assert got == want, f"{port}: {way}{member} is {got:#x} with ID {id}, not {want:#x}"
        ends_page = not (address + beats * beat_bytes) % 4096
        self.bursts[port, "read" if way == "ar" else "write", id, beats, ends_page] += 1

    def high(self, port: str) -> int:
        """Puts the memory at some multiple of its size, too, that the port has addresses for; returns that."""
        config = self.config
        bits = config.dev_address_bits if port == "dev" else config.host_address_bits
        base = self.rng.randrange(max(1, (1 << bits) // SIZE)) * SIZE
        self.memory[port].high.add(base)
        return base

    def connect(self) -> None:
        """Connects everything beside the two memories, before reset ends."""
        raise NotImplementedError

    def make_memory(self) -> Memory:
        """Makes a memory, without ports."""
        memory = Memory(self.rng)
        memory.depth = _DEPTH
        return memory

    def _connect_memories(self) -> None:
        """Gives the memories their ports; each of several answers for its own stripes."""
        for name, ports in (("dev", self.config.dev_ports), ("host", ("host",))):
            for unit, port in enumerate(ports):
                pins = MemoryPins(self.memory[name], self.dut, f"m_axi_{port}")
                self.ends.append(pins)
                made = pins.port
                if self.config.striped(name):
                    made.owns = functools.partial(_in_stripes_of, unit, self.config)
                made.see_burst = functools.partial(self._see_burst, name, port)
                self.ports[name].append(made)

    @contextlib.contextmanager
    def blaming(self) -> Iterator[None]:
        """Keeps the first failure of what is done inside: the test itself only sees that it is cancelled."""
        try:
            yield
        except Exception as error:
            self.failure = self.failure or error
            raise

    async def blame(self, job: Awaitable[None]) -> None:
        """Runs a job beside the test, and keeps the first failure."""
        with self.blaming():
            await job

    async def _watch(self) -> None:
        # With register slices, outputs fall at the first edge in reset, and not before it.
        first = True
        edge, out_of_reset = RisingEdge(self.dut.aclk), level(self.dut.aresetn)
        while True:
            await edge
            self.cycles += 1
            if self.failure is not None:
                raise self.failure
            in_reset = not out_of_reset()
            self._look_for_unknowns(in_reset)
            self.rules_of_axi.check()
            if in_reset:
                self.check_reset(silent=not (first and self.slices))
            first = not in_reset
            for end in self.ends:
                end.step(self.cycles, in_reset)
            for alarm in self._alarms.pop(self.cycles, ()):
                alarm.set()

    async def after(self, cycles: int) -> None:
        """Waits for some rising edges, and wakes up once; cocotb's ClockCycles wakes up at each of them."""
        alarm = Event()
        self._alarms.setdefault(self.cycles + cycles, []).append(alarm)
        await alarm.wait()

    def check_reset(self, *, silent: bool) -> None:
        """Looks at one rising edge in reset, at which the outputs are low if ``silent``."""

    def some_share(self, share: float | None) -> float:
        """``share``, or a random one."""
        return self.rng.choice((0.0, 0.1, 0.5, 0.8)) if share is None else share

    def pauses(self, share: float | None = None) -> None:
        """Random back-pressure on all channels, each with a share of its own; None draws the shares."""
        for port in (*self.ports["dev"], *self.ports["host"]):
            port.pauses = {channel: self.some_share(share) for channel in port.pauses}

    def explain(self, error: BaseException) -> str:
        """What a failure is, in a sentence: the first one of those that the bench has kept."""
        return f"cycle {self.cycles}: {self.failure or error!r}"

    def finish(self) -> None:
        """Objects to anything still in flight at the end."""
        if self.failure is not None:
            raise self.failure
        self.rules_of_axi.finish()


def _in_stripes_of(unit: int, config: EngineConfig, address: int) -> bool:
    return address // config.stripe_bytes % config.units == unit
