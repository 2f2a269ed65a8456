"""The engine between two memories of cocotbext-axi, with our checkers on every port on every cycle.

What is common to an engine with registers (:mod:`.ring`) and one without (:mod:`.stream`).
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from cdma.hdl.spec.records import DESCRIPTOR, RECORD_BYTES, Mode, Status
from cdma.sim.engine.descriptors import unpack
from cdma.sim.engine.port import AddressSpace
from cdma.sim.engine.transfer import DIRECTIONS, Outcome, TransferRules
from cdma.verif.monitors.axi import AxiChecker
from cdma.verif.monitors.axi_lite import AxiLiteChecker

from .design import EngineDesign
from .memory import GUARD, EngineMemory
from .promises import check_promises
from .transfer import Transfer, random_words, transfer

__all__ = ["CHANNELS", "ChannelEnd", "EngineBench"]

#: The engine's channels.
CHANNELS = DIRECTIONS


class ChannelEnd(Protocol):
    """What drives one channel, whether through rings and registers or through streams.

    :class:`~cdma.verif.engine.ring.Ring` and :class:`~cdma.verif.engine.stream.DescriptorStream` say what each does.
    """

    #: The most descriptors that may be handed over and not completed.
    size: int

    def forget(self) -> None: ...
    async def enable(self, *, halt_on_error: int = 0) -> None: ...
    async def disable(self) -> None: ...
    async def submit(self, records: Sequence[bytes]) -> None: ...
    def completion(self) -> bytes | None: ...
    async def next(self, limit: int = 20000) -> bytes: ...
    async def abort(self) -> None: ...
    async def resume(self) -> None: ...
    async def flag(self, name: str) -> int: ...
    async def set_table(self, values: Sequence[int]) -> None: ...
    async def clear_error(self) -> None: ...
    async def check_error(self, status: Status, address: int, tag: int) -> None: ...


class EngineBench:
    """The testbench.

    ``channels``
        What drives each channel.
    """

    #: Whether the ports are checked on every cycle.
    checked = True
    channels: Mapping[str, ChannelEnd]

    def __init__(self, dut: Any, design: EngineDesign, rng: random.Random) -> None:
        self.dut = dut
        self.config = design.config
        self.rng = rng
        self.np = np.random.default_rng(rng.randrange(1 << 32))
        self.tables = {name: tuple([0] * self.config.codec.table_size) for name in CHANNELS}
        self.rules = {name: TransferRules(self.config, name) for name in CHANNELS}
        #: What the engine may touch on each port.
        self.spaces = {
            "dev": AddressSpace(self.config.dev_address_bits),
            "host": AddressSpace(self.config.host_address_bits),
        }
        self.checkers: dict[str, AxiChecker | AxiLiteChecker] = {}
        self.checks = self.transfers = self.words = self.cycles = 0
        self.notes: dict[str, Any] = {}
        self.tag = 0
        self.failure: BaseException | None = None

    async def start(self) -> None:
        """Clock, memories, checkers, reset."""
        dut = self.dut
        for name in ("cocotbext", "cocotb"):
            logging.getLogger(name).setLevel(logging.WARNING)
        dut.aresetn.value = 0
        cocotb.start_soon(Clock(dut.aclk, 10, unit="ns").start())
        self.memory = {name: self.make_memory(name) for name in ("dev", "host")}
        config = self.config
        widths = {"dev": config.dev_data_bits, "host": config.host_data_bits}
        for name, bits in widths.items() if self.checked else ():
            self.checkers[name] = AxiChecker(
                name,
                self.sampler(f"m_axi_{name}"),
                bits,
                longest=max(config.burst(bits), RECORD_BYTES * 8 // bits),
                outstanding=config.outstanding,
                # Descriptors that are fetched ahead, and a few completions.
                others=max(config.descriptors, 4),
                on_write=self.memory[name].guard,
            )
        self.connect()
        await ClockCycles(dut.aclk, 2)
        cocotb.start_soon(self.blame(self._watch()))
        await ClockCycles(dut.aclk, 3)
        dut.aresetn.value = 1
        await ClockCycles(dut.aclk, 40)

    def connect(self) -> None:
        """Everything beside the two memories that has to be there before reset ends."""
        raise NotImplementedError

    def make_memory(self, name: str) -> Any:
        """The memory behind one port."""
        return EngineMemory(self.dut, f"m_axi_{name}", self.rng, self.blaming)

    def sampler(self, prefix: str) -> Callable[[str], int]:
        """Reads the ports of a bus, by what follows the prefix."""
        handles: dict[str, Any] = {}

        def sample(name: str) -> int:
            handle = handles.get(name)
            if handle is None:
                handle = handles[name] = getattr(self.dut, f"{prefix}_{name}")
            return int(handle.value)

        return sample

    @contextlib.contextmanager
    def blaming(self) -> Iterator[None]:
        """Keeps the first failure of what is done inside: the test itself only sees that it is cancelled, and
        a memory of cocotbext-axi makes an answer of it."""
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
        while True:
            await RisingEdge(self.dut.aclk)
            self.cycles += 1
            if self.failure is not None:
                raise self.failure
            if int(self.dut.aresetn.value):
                for checker in self.checkers.values():
                    checker.cycle()
            else:
                self.check_reset()

    def check_reset(self) -> None:
        """Looks at one rising edge in reset."""
        for checker in self.checkers.values():
            checker.reset()

    async def reset(self, cycles: int) -> None:
        """A hardware reset of engine and neighbours, whatever is under way."""
        await RisingEdge(self.dut.aclk)
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, cycles)
        for end in self.channels.values():
            end.forget()
        for memory in self.memory.values():
            memory.forget()
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 2)

    def pausable(self) -> list[Any]:
        """The sides of all AXI channels that the bench has."""
        return [
            channel
            for memory in self.memory.values()
            for channel in (
                memory.read_if.ar_channel,
                memory.read_if.r_channel,
                memory.write_if.aw_channel,
                memory.write_if.w_channel,
                memory.write_if.b_channel,
            )
        ]

    def some_share(self, share: float | None) -> float:
        """``share``, or a random one."""
        return self.rng.choice((0.0, 0.1, 0.5, 0.8)) if share is None else share

    def pauses(self, share: float | None = None) -> None:
        """Random back-pressure on all channels, each with a share of its own; None draws the shares."""
        for channel in self.pausable():
            wanted = self.some_share(share)
            channel.clear_pause_generator()
            channel.pause = False
            if wanted:
                channel.set_pause_generator(_shares(random.Random(self.rng.random()), wanted))

    async def set_watchdog(self, cycles: int) -> None:
        """How long a port may be silent; 0 is for ever."""
        raise NotImplementedError

    async def set_window(self, port: str, base: int, limit: int) -> None:
        """Sets what the engine may touch on a port: whole pages, ``limit`` included."""
        self.spaces[port] = replace(self.spaces[port], base=base, limit=limit)
        await self.write_window(port, base, limit)

    async def write_window(self, port: str, base: int, limit: int) -> None:
        """Gives the window to the engine."""
        raise NotImplementedError

    async def set_table(self, channel: str, values: Sequence[int]) -> None:
        """Sets a channel's table of frequent values."""
        self.tables[channel] = tuple(values)
        await self.channels[channel].set_table(values)

    # -- Transfers.

    def transfer(self, channel: str, words: int, *, mode: int | None = None, **options: Any) -> Transfer:
        """A transfer of random data at a random place, its source written, its destination allowed."""
        config, rng = self.config, self.rng
        compressing = channel == "offload"
        table = self.tables[channel]
        chosen = rng.choice(list(Mode)) if mode is None else mode
        raw = random_words(self.np, words, config, table)
        read, write = ("dev", "host") if compressing else ("host", "dev")
        bits = {"dev": config.dev_data_bits, "host": config.host_data_bits}
        # Where in their beats source and destination begin.
        offsets = {port: rng.randrange(0, bits[port] // 8, config.align(bits[port])) for port in bits}
        self.tag += 1
        made = transfer(
            config,
            channel,
            mode=chosen,
            raw=raw,
            table=table,
            source=offsets[read],
            destination=offsets[write],
            tag=self.tag,
            **options,
        )
        sizes = {"source": len(made.source), "destination": made.descriptor["capacity"]}
        places = {
            field: self.memory[port].place(rng, offsets[port] + sizes[field], bits[port] // 8)
            for field, port in (("source", read), ("destination", write))
        }
        made.move(places["source"], places["destination"])
        source, destination = made.descriptor["source"], made.descriptor["destination"]
        self.memory[read].write(source, made.source)
        self.memory[write].allow(destination, made.descriptor["capacity"])
        return made

    def check(self, channel: str, made: Transfer, completion: bytes) -> None:
        """The completion, every byte of the destination, and the guard bytes around it."""
        self.checks += made.check(completion)
        check_promises(self.config, channel, made.descriptor, made.completion)
        self.check_memory(channel, made)
        self.transfers += 1
        self.words += made.descriptor["length"] * 8 // self.config.format.word_bits

    def check_memory(self, channel: str, made: Transfer, exact: bool = True) -> None:
        """What lies at the destination; then makes the place as new. Not ``exact``: only the guards count."""
        memory = self.memory["host" if channel == "offload" else "dev"]
        start, capacity = made.descriptor["destination"], made.descriptor["capacity"]
        around = 128
        got = bytes(memory.read(start - around, capacity + 2 * around))
        written = made.expected.written
        inner = written + bytes([GUARD]) * (capacity - len(written))
        want = bytes([GUARD]) * around + inner + bytes([GUARD]) * around
        if not exact:
            want = want[:around] + got[around:-around] + want[-around:]
        if got != want:
            at = next(index for index in range(len(want)) if got[index] != want[index])
            raise AssertionError(
                f"{made.descriptor}: byte {at - around} of the destination is {got[at]:#x}, not {want[at]:#x}"
            )
        self.checks += 1
        memory.write(start, bytes([GUARD]) * capacity)
        memory.allow(start, capacity, False)

    async def run(self, channel: str, transfers: Sequence[Transfer]) -> None:
        """Hands transfers over, as many at once as there is room for, and checks each when it is complete."""
        end = self.channels[channel]
        waiting = list(transfers)
        under_way: list[Transfer] = []
        while waiting or under_way:
            room = end.size - len(under_way)
            count = min(room, len(waiting), self.rng.randint(1, end.size))
            if count:
                under_way += waiting[:count]
                await end.submit([made.record() for made in waiting[:count]])
                del waiting[:count]
            for _ in range(self.rng.randint(1, len(under_way))):
                self.check(channel, under_way[0], await end.next())
                under_way.pop(0)

    def refusal(self, channel: str, made: Transfer) -> Outcome | None:
        """What the specification objects to in a descriptor."""
        ports = ("dev", "host") if channel == "offload" else ("host", "dev")
        source, sink = (self.spaces[port] for port in ports)
        return self.rules[channel].refusal(unpack(DESCRIPTOR, made.record()), source, sink)

    async def settle(self, channel: str) -> None:
        """Waits for the end of an abort."""
        for _ in range(4000):
            if not await self.channels[channel].flag("aborting"):
                return
        raise AssertionError(f"{channel}: the abort did not end")

    def tally(self) -> dict[str, Any]:
        """What the test has done, so that nothing can pass by doing nothing."""
        return {
            "packets": self.transfers,
            "words": self.words,
            "checks": self.checks,
            "cycles": self.cycles,
            "notes": self.notes,
        }

    def explain(self, error: BaseException) -> str:
        """What a failure is, in a sentence: the first one of those that the bench has kept."""
        return f"cycle {self.cycles}: {self.failure or error!r}"

    def finish(self) -> None:
        """Objects to anything still in flight at the end."""
        if self.failure is not None:
            raise self.failure
        for checker in self.checkers.values():
            checker.finish()


def _shares(rng: random.Random, share: float) -> Any:
    while True:
        yield rng.random() < share
