"""The bench: drives and watches every stream of a codec, cycle by cycle, and compares with the golden model.

One coroutine does all the work of a cycle. Nothing else wakes up, which is what lets Python keep up with
thousands of packets. All signals are read as the clock edge sees them, and driven just after it.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from cdma.verif.monitors.pauses import Pause, always
from cdma.verif.monitors.rules import Beat, RuleError, StreamRules
from cdma.verif.monitors.stream_ends import StreamSink, StreamSource
from cdma.verif.monitors.tally import Tally
from cdma.verif.monitors.unknowns import UNKNOWN, Unknowns

from .design import CodecDesign
from .packet_check import PacketCheck
from .traffic import Packet

__all__ = ["Bench", "Delivery"]

#: Cycles without any transfer, with every source and sink willing, after which the design is said to hang.
_PATIENCE = 400
#: Beats or reports for each beat that goes in or is expected, after which the design is said to put them out for ever.
_FLOOD = 100


@dataclass(frozen=True)
class Delivery:
    """What came of one packet, and when: clock cycles since the bench began."""

    packet: Packet
    first_in: int
    last_in: int
    first_out: int
    last_out: int
    report: int

    @property
    def cycles(self) -> int:
        """Clock cycles from the first beat in to the last beat out, both counted."""
        return self.last_out - self.first_in + 1


class Bench:
    """A codec with a source or a sink at every stream.

    Use: ``start``, then any number of ``run`` with packets, or ``offer`` and ``cycle`` by hand.
    """

    def __init__(self, dut: Any, design: CodecDesign, rng: random.Random, tally: Tally) -> None:
        self.dut = dut
        self.design = design
        self.rng = rng
        self.tally = tally
        form = design.config.format
        out_bits = form.word_bits if design.block == "decompressor" else form.stream_bits
        self.input = StreamSource(dut, "s_axis", ("data", "keep", "last"))
        self.length = StreamSource(dut, "s_length", ("data",)) if design.block == "decompressor" else None
        self._rules = StreamRules(
            "m_axis", design.config.data_bits // 8, out_bits // 8, design.block == "decompressor"
        )
        self.output = StreamSink(dut, "m_axis", self._rules, True)
        self.report = StreamSink(dut, "m_report", StreamRules("m_report"), False)
        self._edge = RisingEdge(dut.aclk)
        self._unknowns = Unknowns(design.ports) if hasattr(dut, UNKNOWN) else None
        self._compare = PacketCheck(out_bits)
        self._digest = hashlib.sha256()
        self._values: tuple[int, ...] = ()
        #: What is told of each packet to those who count situations.
        self.samples: list[dict[str, Any]] = []
        self.now = 0
        dut.aresetn.value = 0

    @property
    def sources(self) -> list[StreamSource]:
        """The sources of the bench."""
        return [self.input] if self.length is None else [self.input, self.length]

    @property
    def digest(self) -> str:
        """A hash of everything that the design showed since reset, cycle by cycle."""
        return self._digest.hexdigest()

    def drive_values(self, values: Sequence[int]) -> None:
        """Puts a table on the port of a design with a run-time table."""
        bits = self.design.config.format.entry_bits
        self._values = tuple(values)
        self.dut.values.value = sum(value << (index * bits) for index, value in enumerate(values))

    async def start(self) -> None:
        """Starts the clock and resets."""
        Clock(self.dut.aclk, 10, "ns").start()
        await self.reset()

    async def reset(self, cycles: int = 4) -> None:
        """Applies reset, during which valid must be low, and forgets what was in flight."""
        self.dut.aresetn.value = 0
        for source in self.sources:
            source.clear()
            source.taken.clear()
        self.output.clear()
        self.report.clear()
        await self._edge
        await self._edge
        for _ in range(cycles):
            await self._edge
            self._look_for_unknowns(reset=True)
            self.output.step_in_reset()
            self.report.step_in_reset()
            self.tally.checks += 2
        self.dut.aresetn.value = 1

    def set_pauses(self, **pauses: Pause) -> None:
        """Sets when ``input``, ``length``, ``output`` and ``report`` hold back; the others never do."""
        for name in ("input", "length", "output", "report"):
            end = getattr(self, name)
            if end is not None:
                end.pause = pauses.get(name) or always(self.rng)

    def offer(self, packets: Iterable[Packet]) -> None:
        """Queues packets on the input, and their lengths."""
        for packet in packets:
            self.input.queue.extend((beat.data, beat.keep, int(beat.last)) for beat in packet.beats)
            if self.length is not None:
                assert packet.length is not None
                self.length.queue.append((packet.length,))

    async def cycle(self) -> bool:
        """One clock cycle; says whether anything moved."""
        await self._edge
        self._look_for_unknowns(reset=False)
        self.now += 1
        now = self.now
        moved = self.input.step(now)
        if self.length is not None:
            moved |= self.length.step(now)
        taken = len(self.output.received) + len(self.report.received)
        beat = self.output.step(now)
        report = self.report.step(now)
        shown = (moved, beat and (self._compare.masked(beat), beat.keep, beat.last), report and report.data)
        self._digest.update(repr(shown).encode())
        self.tally.cycles += 1
        self.tally.checks += 2
        return moved or len(self.output.received) + len(self.report.received) > taken

    def _look_for_unknowns(self, *, reset: bool) -> None:
        if self._unknowns is not None:
            self._unknowns.cycle(int(getattr(self.dut, UNKNOWN).value), reset)

    async def run(self, packets: Sequence[Packet]) -> list[Delivery]:
        """Sends packets back to back, waits until all have come out, and checks every bit of them.

        Also waits a little longer: nothing more may come.
        """
        for source in self.sources:
            source.taken.clear()
        self.output.received.clear()
        self.report.received.clear()
        ends: list[StreamSource | StreamSink] = [*self.sources, self.output, self.report]
        for end in ends:
            end.held_back.clear()
        self.offer(packets)
        limit = _FLOOD * (1 + sum(len(packet.beats) + len(packet.expected or ()) for packet in packets))
        idle = 0
        ended = 0
        seen = 0
        while ended < len(packets) or len(self.report.received) < len(packets):
            idle = 0 if await self.cycle() else idle + 1
            for _, beat in self.output.received[seen:]:
                ended += beat.last
            seen = len(self.output.received)
            if max(seen, len(self.report.received)) > limit:
                raise RuleError(
                    f"{seen} beats and {len(self.report.received)} reports of {len(packets)} packets came out"
                )
            if idle > _PATIENCE:
                raise RuleError(
                    f"nothing moves: {ended} of {len(packets)} packets and {len(self.report.received)} "
                    f"reports came out, {len(self.input.queue)} beats wait at the input"
                )
        for _ in range(4):
            await self.cycle()
        if self.input.queue or (self.length is not None and self.length.queue):
            raise RuleError("packets and reports are all out, but the design has not taken all of the input")
        return self._check(packets)

    def _check(self, packets: Sequence[Packet]) -> list[Delivery]:
        groups: list[list[tuple[int, Beat]]] = [[]]
        for item in self.output.received:
            groups[-1].append(item)
            if item[1].last:
                groups.append([])
        if groups.pop() or len(groups) != len(packets):
            raise RuleError(f"{len(packets)} packets went in, but more than that came out")
        if len(self.report.received) != len(packets):
            raise RuleError(
                f"{len(packets)} packets went in, but {len(self.report.received)} reports came out"
            )
        deliveries = []
        start = 0
        for index, (packet, group, (when, report)) in enumerate(
            zip(packets, groups, self.report.received, strict=True)
        ):
            try:
                self.tally.checks += self._compare(packet, [beat for _, beat in group], report.data)
            except RuleError as error:
                raise RuleError(f"packet {index} of {len(packets)} ({packet.words} words): {error}") from None
            taken = self.input.taken[start : start + len(packet.beats)]
            start += len(packet.beats)
            deliveries.append(Delivery(packet, taken[0], taken[-1], group[0][0], group[-1][0], when))
            self.tally.packets += 1
            self.tally.words += packet.words
        self.samples += [self._sample(deliveries, index) for index in range(len(deliveries))]
        return deliveries

    def _sample(self, deliveries: Sequence[Delivery], index: int) -> dict[str, Any]:
        """What happened to one of several packets that went in together."""
        this, before = deliveries[index], deliveries[index - 1] if index else None
        report = this.packet.report
        held: list[str] = []
        spans: list[tuple[StreamSource | StreamSink, int, int]] = [
            (self.input, this.first_in, this.last_in),
            (self.output, this.first_in, this.last_out),
            (self.report, this.first_in, this.report),
        ]
        if self.length is not None:
            taken = self.length.taken
            spans.append((self.length, taken[index - 1] if index else 0, taken[index]))
        for end, first, last in spans:
            at = bisect_left(end.held_back, first)
            if at < len(end.held_back) and end.held_back[at] <= last:
                held.append(end.name)
        return {
            # Of a packet with malformed beats nothing is known but its error.
            "words": None
            if this.packet.expected is None
            else report.words_out
            if self.length is not None
            else report.words_in,
            "literals": report.literals,
            "error": report.error,
            "held": held,
            "after": None if before is None else before.packet.report.error,
            "gap": None if before is None else this.first_in - before.last_in - 1,
            "table": self._values,
        }
