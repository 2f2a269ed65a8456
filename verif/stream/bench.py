"""The bench of a block with streams: drives and watches all of them, cycle by cycle, and compares with the golden model.

One coroutine does all the work of a cycle, which lets Python keep up with thousands of packets. All signals are read as
the clock edge sees them, and driven just after it. Tests that are alike for all such blocks are here, too.
"""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from cdma.verif.simulator.monitors.rules import Beat, RuleError, StreamRules, Tally, unknowns_at
from cdma.verif.simulator.monitors.stream_ends import (
    PATTERNS,
    Pause,
    StreamSink,
    StreamSource,
    after_waiting,
    always,
    never_first,
    pattern,
)
from cdma.verif.simulator.plan import bench_settings, leave_samples, leaving_result

from .packet import Packet, PacketCheck, StreamDesign, kept

#: Cycles without any transfer, with every source and sink willing, after which the design is said to hang.
_PATIENCE = 400
#: Beats or reports for each beat that goes in or is expected, after which the design is said to put them out for ever.
_FLOOD = 100

P = TypeVar("P", bound=Packet)
T = TypeVar("T", bound=Packet, contravariant=True)


@dataclass(frozen=True)
class Delivery(Generic[P]):
    """One packet at the output: the clock cycles of its beats in and out, and of its report. ``held`` names the streams
    that paused."""

    packet: P
    taken: Sequence[int]
    given: Sequence[int]
    report: int | None
    held: Sequence[str]

    @property
    def cycles(self) -> int:
        """Clock cycles from the first beat in to the last beat out, both counted."""
        return self.given[-1] - self.taken[0] + 1

    @property
    def latency(self) -> int:
        """Clock cycles from the first beat in to the first beat out."""
        return self.given[0] - self.taken[0]


class SidePort(Protocol[T]):
    """Drives a port that belongs to the packets at the input and is no stream."""

    def offer(self, packet: T) -> None:
        """A packet has been queued."""

    def after_input(self, moved: bool) -> None:
        """The source has seen a clock edge."""

    def forget(self) -> None:
        """Nothing is queued any more."""


class Bench(Generic[P]):
    """A block with a source or a sink at every stream: ``start``, then ``run`` with packets, or ``offer`` and ``cycle``."""

    def __init__(self, dut: Any, design: StreamDesign, rng: random.Random, tally: Tally) -> None:
        streams = design.streams
        self.dut = dut
        self.rng = rng
        self.tally = tally
        self.patience = _PATIENCE
        self.input = StreamSource(dut, "s_axis", ("data", "keep", "last"))
        self.length = StreamSource(dut, "s_length", ("data",)) if streams.length else None
        rules = StreamRules("m_axis", streams.words * streams.keeps, streams.keeps, streams.may_be_empty)
        self.output = StreamSink(dut, "m_axis", rules, True)
        self.report = StreamSink(dut, "m_report", StreamRules("m_report"), False) if streams.report else None
        self.side: SidePort[P] | None = None
        self.sources = [self.input, *([self.length] if self.length else [])]
        self.sinks = [self.output, *([self.report] if self.report else [])]
        self._ends: list[StreamSource | StreamSink] = [*self.sources, *self.sinks]
        self._edge = RisingEdge(dut.aclk)
        self._look_for_unknowns = unknowns_at(dut, design.ports)
        self._compare = PacketCheck(streams)
        self._noise = random.Random("noise")
        self._digest = hashlib.sha256()
        #: What is told of a packet, after the one before it, to those who count situations; without it nothing is.
        self.describe: Callable[[Delivery[P] | None, Delivery[P]], Mapping[str, Any]] | None = None
        self.samples: list[Mapping[str, Any]] = []
        self.now = 0
        dut.aresetn.value = 0
        if hasattr(dut, "scan_enable"):
            dut.scan_enable.value = 0

    @property
    def digest(self) -> str:
        """A hash of everything that the design showed since reset, cycle by cycle."""
        return self._digest.hexdigest()

    async def start(self) -> None:
        Clock(self.dut.aclk, 10, "ns").start()
        await self.reset()

    async def reset(self, cycles: int = 4) -> None:
        """Applies reset, during which valid must be low, and forgets what was in flight."""
        self.dut.aresetn.value = 0
        self._forget()
        for end in self._ends:
            end.clear()
        await self._edge
        await self._edge
        for _ in range(cycles):
            await self._edge
            self._look_for_unknowns(True)
            for sink in self.sinks:
                sink.step_in_reset()
                self.tally.checks += 1
        self.dut.aresetn.value = 1

    def set_pauses(self, **pauses: Pause) -> None:
        """Sets the pauses of ``input``, ``length``, ``output`` and ``report``; by default none."""
        for name in ("input", "length", "output", "report"):
            end = getattr(self, name)
            if end is not None:
                end.pause = pauses.get(name) or always(self.rng)

    def offer(self, packets: Iterable[P]) -> None:
        """Queues packets on the input, and on its side port."""
        for packet in packets:
            self.input.queue.extend((self._noisy(beat), beat.keep, int(beat.last)) for beat in packet.beats)
            if self.length is not None:
                assert packet.length is not None
                self.length.queue.append((packet.length,))
            if self.side is not None:
                self.side.offer(packet)

    def _noisy(self, beat: Beat) -> int:
        """The data of a beat, with anything in the words, and parts of one, that ``keep`` leaves out."""
        size, bits = len(self.dut.s_axis_tkeep), len(self.dut.s_axis_tdata)
        if beat.keep + 1 == 1 << size:
            return beat.data
        noise = self._noise.choice((0, (1 << bits) - 1, self._noise.getrandbits(bits)))
        mask = kept(beat.keep, bits // size)
        return beat.data & mask | noise & ~mask

    async def cycle(self) -> bool:
        """One clock cycle; whether anything moved."""
        await self._edge
        self._look_for_unknowns(False)
        self.now += 1
        moved = self.input.step(self.now)
        if self.side is not None:
            self.side.after_input(moved)
        if self.length is not None:
            moved |= self.length.step(self.now)
        taken = sum(len(sink.received) for sink in self.sinks)
        beat = self.output.step(self.now)
        report = self.report.step(self.now) if self.report is not None else None
        shown = (moved, beat and (self._compare.masked(beat), beat.keep, beat.last), report and report.data)
        self._digest.update(repr(shown).encode())
        self.tally.cycles += 1
        self.tally.checks += len(self.sinks)
        return moved or sum(len(sink.received) for sink in self.sinks) > taken

    async def run(self, packets: Sequence[P]) -> list[Delivery[P]]:
        """Sends packets back to back, waits until all have come out, and checks every bit of them, and that nothing
        follows."""
        self._forget()
        for sink in self.sinks:
            sink.received.clear()
        for end in self._ends:
            end.held_back.clear()
        self.offer(packets)
        limit = _FLOOD * (1 + sum(len(packet.beats) + len(packet.expected or ()) for packet in packets))
        idle = ended = seen = reports = 0
        while ended < len(packets) or (self.report is not None and reports < len(packets)):
            idle = 0 if await self.cycle() else idle + 1
            ended += sum(beat.last for _, beat in self.output.received[seen:])
            seen = len(self.output.received)
            reports = len(self.report.received) if self.report is not None else 0
            if max(seen, reports) > limit:
                raise RuleError(f"{seen} beats and {reports} reports of {len(packets)} packets came out")
            if idle > self.patience:
                raise RuleError(
                    f"nothing moves: {ended} of {len(packets)} packets and {reports} reports came out, "
                    f"{len(self.input.queue)} beats wait at the input"
                )
        for _ in range(4):
            await self.cycle()
        if any(source.queue for source in self.sources):
            raise RuleError("packets and reports are all out, but the design has not taken all of the input")
        return self._check(packets)

    def _check(self, packets: Sequence[P]) -> list[Delivery[P]]:
        groups: list[list[tuple[int, Beat]]] = [[]]
        for item in self.output.received:
            groups[-1].append(item)
            if item[1].last:
                groups.append([])
        if groups.pop() or len(groups) != len(packets):
            raise RuleError(f"{len(packets)} packets went in, but more than that came out")
        reports = self.report.received if self.report is not None else [(None, None)] * len(packets)
        if len(reports) != len(packets):
            raise RuleError(f"{len(packets)} packets went in, but {len(reports)} reports came out")
        deliveries: list[Delivery[P]] = []
        start = 0
        for index, (packet, group, (when, report)) in enumerate(zip(packets, groups, reports, strict=True)):
            beats = [beat for _, beat in group]
            try:
                self.tally.checks += self._compare(packet, beats, None if report is None else report.data)
            except RuleError as error:
                raise RuleError(f"packet {index} of {len(packets)} ({packet.words} words): {error}") from None
            taken = self.input.taken[start : start + len(packet.beats)]
            start += len(packet.beats)
            given = [cycle for cycle, _ in group]
            held = self._held(index, taken, given[-1], when)
            deliveries.append(Delivery(packet, taken, given, when, held))
            self.tally.packets += 1
            self.tally.words += packet.words
        if self.describe is not None:
            pairs = zip([None, *deliveries], deliveries, strict=False)
            self.samples += [self.describe(before, this) for before, this in pairs]
        return deliveries

    def _held(self, index: int, taken: Sequence[int], out: int, report: int | None) -> list[str]:
        first = taken[0]
        spans: list[tuple[StreamSource | StreamSink, int, int]] = [
            (self.input, first, taken[-1]),
            (self.output, first, out),
        ]
        if self.report is not None and report is not None:
            spans.append((self.report, first, report))
        if self.length is not None:
            lengths = self.length.taken
            spans.append((self.length, lengths[index - 1] if index else 0, lengths[index]))
        held = []
        for end, begin, last in spans:
            at = bisect_left(end.held_back, begin)
            if at < len(end.held_back) and end.held_back[at] <= last:
                held.append(end.name)
        return held

    def _forget(self) -> None:
        for source in self.sources:
            source.taken.clear()
        if self.side is not None:
            self.side.forget()


D = TypeVar("D", bound=StreamDesign)

C = TypeVar("C", bound="Context[Any, Any]")


class Context(ABC, Generic[D, P]):
    """The context of a test: the bench, its parameters, and its random numbers. Each kind of block has a subclass."""

    #: The streams that :meth:`any_pauses` draws for, in this order.
    streams: ClassVar[tuple[str, ...]]

    def __init__(self, dut: Any, design: D, name: str) -> None:
        self.settings = settings = bench_settings()
        self.design = design
        self.budget: int = settings["packets"]
        self.seed = f"{settings['seed']}/{name}"
        self.rng = random.Random(self.seed)
        self.tally = Tally()
        self.dut = dut
        self.bench: Bench[P] = Bench(dut, design, self.rng, self.tally)
        if "samples" in settings:
            self.bench.describe = self.describe

    @abstractmethod
    def any_packet(self, length: int | None = None) -> P:
        """A packet of any shape."""

    @abstractmethod
    def describe(self, before: Delivery[P] | None, this: Delivery[P]) -> Mapping[str, Any]:
        """A sample of a packet, after the one before it, for functional coverage."""

    def new_table(self) -> None:
        """Changes the run-time table, if the design has one."""

    def explain(self, error: BaseException) -> str:
        return f"cycle {self.bench.now}: {error}" if isinstance(error, RuleError) else repr(error)

    def any_pauses(self) -> dict[str, Pause]:
        sinks = ("output", "report")
        return {name: pattern(self.rng, sink=name in sinks)[1] for name in self.streams}


def stream_test(kind: Callable[[Any, str], C]) -> Callable[..., Any]:
    """Makes cocotb tests of functions of a context of this ``kind``, with the bench started; the result has the function's
    name or another one."""

    def test(body: Callable[[C], Awaitable[None]], name: str = "") -> Any:
        name = name or body.__name__

        async def run(dut: Any) -> None:
            context = kind(dut, name)
            with leaving_result(name, lambda: asdict(context.tally), context.explain):
                await context.bench.start()
                await body(context)
                leave_samples(context.bench.samples)

        run.__name__ = run.__qualname__ = name
        return cocotb.test()(run)

    return test


async def in_any_order(context: Context[Any, P], packets: Sequence[P]) -> None:
    """Sends packets without pauses, then shuffled with pauses."""
    context.bench.set_pauses()
    await context.bench.run(packets)
    shuffled = list(packets)
    context.rng.shuffle(shuffled)
    context.bench.set_pauses(**context.any_pauses())
    await context.bench.run(shuffled)


async def random_traffic(context: Context[Any, Any]) -> None:
    """Random packets, lengths and tables under random pauses, a few packets at a time."""
    left = context.budget
    while left > 0:
        count = min(left, context.rng.choice((1, 5, 20, 40)))
        context.new_table()
        context.bench.set_pauses(**context.any_pauses())
        await context.bench.run([context.any_packet() for _ in range(count)])
        left -= count


async def same_from_any_start(context: Context[Any, Any]) -> None:
    """Notes a digest of all outputs, which must not depend on start values."""
    bench = context.bench
    bench.set_pauses()
    await bench.run([context.any_packet() for _ in range(20)])
    bench.set_pauses(**context.any_pauses())
    await bench.run([context.any_packet() for _ in range(20)])
    context.tally.notes["digest"] = bench.digest


async def resets(context: Context[Any, Any]) -> None:
    """Resets in mid-packet at any moment; what follows must be whole."""
    bench = context.bench
    for _ in range(max(20, context.budget // 20)):
        context.new_table()
        bench.set_pauses(**context.any_pauses())
        bench.offer([context.any_packet() for _ in range(3)])
        for _ in range(context.rng.randint(1, 60)):
            await bench.cycle()
        await bench.reset(context.rng.randint(1, 3))
        bench.set_pauses(**context.any_pauses())
        await bench.run([context.any_packet() for _ in range(2)])


async def long_stalls(context: Context[Any, P]) -> list[P]:
    """Sinks that wait for valid, long stalls on each stream in turn, late reports; returns the packets."""
    bench = context.bench
    packets = [context.any_packet() for _ in range(20)]
    bench.set_pauses(output=never_first(context.rng), report=never_first(context.rng))
    await bench.run(packets)
    for end in ("input", "output", "report", "length"):
        for name in ("long_stalls", "scattered") if getattr(bench, end) is not None else ():
            bench.set_pauses(**{end: PATTERNS[name](context.rng)})
            await bench.run(packets)
    # What late reports hold up must go on as soon as they are taken.
    bench.set_pauses(report=after_waiting(100))
    await bench.run(packets[:6])
    return packets
