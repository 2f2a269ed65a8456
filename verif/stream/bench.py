"""The bench: drives and watches every stream of a block, cycle by cycle, and compares with the golden model.

One coroutine does all the work of a cycle. Nothing else wakes up, which is what lets Python keep up with
thousands of packets. All signals are read as the clock edge sees them, and driven just after it.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from cdma.verif.simulator.monitors.pauses import Pause, always
from cdma.verif.simulator.monitors.rules import Beat, RuleError, StreamRules
from cdma.verif.simulator.monitors.stream_ends import StreamSink, StreamSource
from cdma.verif.simulator.monitors.tally import Tally
from cdma.verif.simulator.monitors.unknowns import unknowns_at

from .design import StreamDesign
from .packet import Packet, PacketCheck

__all__ = ["Bench", "Delivery", "SidePort"]

#: Cycles without any transfer, with every source and sink willing, after which the design is said to hang.
_PATIENCE = 400
#: Beats or reports for each beat that goes in or is expected, after which the design is said to put them out for ever.
_FLOOD = 100

P = TypeVar("P", bound=Packet)
T = TypeVar("T", bound=Packet, contravariant=True)


@dataclass(frozen=True)
class Delivery(Generic[P]):
    """What came of one packet, and when: a clock cycle for each beat in and out, and that of the report, if there is one.

    ``held`` names the streams that were held back meanwhile.
    """

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
    """A block with a source or a sink at every stream.

    Use: ``start``, then any number of ``run`` with packets, or ``offer`` and ``cycle`` by hand.
    """

    def __init__(self, dut: Any, design: StreamDesign, rng: random.Random, tally: Tally) -> None:
        streams = design.streams
        self.dut = dut
        self.rng = rng
        self.tally = tally
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
        """Starts the clock and resets."""
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
        """Sets when ``input``, ``length``, ``output`` and ``report`` hold back; the others never do."""
        for name in ("input", "length", "output", "report"):
            end = getattr(self, name)
            if end is not None:
                end.pause = pauses.get(name) or always(self.rng)

    def offer(self, packets: Iterable[P]) -> None:
        """Queues packets on the input, and what goes in beside them."""
        for packet in packets:
            self.input.queue.extend((beat.data, beat.keep, int(beat.last)) for beat in packet.beats)
            if self.length is not None:
                assert packet.length is not None
                self.length.queue.append((packet.length,))
            if self.side is not None:
                self.side.offer(packet)

    async def cycle(self) -> bool:
        """One clock cycle; says whether anything moved."""
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
        """Sends packets back to back, waits until all have come out, and checks every bit of them.

        Also waits a little longer: nothing more may come.
        """
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
            if idle > _PATIENCE:
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
        """The streams that were held back while a packet passed."""
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
