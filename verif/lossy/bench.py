"""The bench: drives and watches every port of a quantiser or a dequantiser, cycle by cycle.

All signals are read as the clock edge sees them, and driven just after it.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from cdma.verif.monitors.pauses import Pause, always
from cdma.verif.monitors.rules import Beat, RuleError, StreamRules
from cdma.verif.monitors.stream_ends import StreamSink, StreamSource
from cdma.verif.monitors.tally import Tally
from cdma.verif.monitors.unknowns import UNKNOWN, Unknowns

from .classes import integer_kind, number_kind
from .design import StageDesign
from .packet import Packet, kept_words

__all__ = ["Bench", "Delivery"]

#: Cycles without any transfer, with every source and sink willing, after which the design is said to hang.
_PATIENCE = 400


@dataclass(frozen=True)
class Delivery:
    """When a packet went in and came out, in clock cycles since the bench began: a cycle for each beat, and that of the
    report, if there is one. ``held`` names the streams that were held back meanwhile."""

    packet: Packet
    taken: Sequence[int]
    given: Sequence[int]
    report: int | None
    held: Sequence[str]


class Bench:
    """A block with a source or a sink at every stream, and the port ``step`` right only when it must be.

    Use: ``start``, then any number of ``run`` with packets.
    """

    def __init__(self, dut: Any, design: StageDesign, rng: random.Random, tally: Tally) -> None:
        self.dut = dut
        self.design = design
        self.rng = rng
        self.tally = tally
        self.input = StreamSource(dut, "s_axis", ("data", "keep", "last"))
        self.input.gate = self._waits_for_step
        of_keep = max(1, design.bits_out // 8)
        rules = StreamRules("m_axis", of_keep * design.config.lanes, of_keep, may_be_empty=True)
        self.output = StreamSink(dut, "m_axis", rules, True)
        self.report = (
            StreamSink(dut, "m_report", StreamRules("m_report"), False) if design.quantises else None
        )
        #: The steps of the beats that are queued and have been taken.
        self._steps: list[int] = []
        self._driven: int | None = None
        self._asked = False
        self._edge = RisingEdge(dut.aclk)
        self._unknowns = Unknowns(design.ports) if hasattr(dut, UNKNOWN) else None
        self._digest = hashlib.sha256()
        #: What was delivered, a list for the packets that were sent together.
        self._deliveries: list[list[Delivery]] = []
        self.now = 0
        dut.aresetn.value = 0
        dut.step.value = 0

    @property
    def sinks(self) -> list[StreamSink]:
        """The sinks of the bench."""
        return [self.output] if self.report is None else [self.output, self.report]

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
        self.input.clear()
        for sink in self.sinks:
            sink.clear()
        await self._edge
        await self._edge
        for _ in range(cycles):
            await self._edge
            self._look_for_unknowns(reset=True)
            for sink in self.sinks:
                sink.step_in_reset()
                self.tally.checks += 1
        self.dut.aresetn.value = 1

    def set_pauses(self, **pauses: Pause) -> None:
        """Sets when ``input``, ``output`` and ``report`` hold back; the others never do."""
        for name in ("input", "output", "report"):
            end = getattr(self, name)
            if end is not None:
                end.pause = pauses.get(name) or always(self.rng)

    def offer(self, packets: Sequence[Packet]) -> None:
        """Queues packets on the input."""
        for packet in packets:
            self.input.queue.extend((beat.data, beat.keep, int(beat.last)) for beat in packet.beats)
            self._steps += [packet.step] * len(packet.beats)

    async def cycle(self) -> bool:
        """One clock cycle; says whether anything moved."""
        await self._edge
        self._look_for_unknowns(reset=False)
        self.now += 1
        taken = sum(len(sink.received) for sink in self.sinks)
        self._asked = False
        moved = self.input.step(self.now)
        if moved and not self._asked:
            # No beat is on offer, and none waits for its step.
            self._drive_step(None)
        shown = []
        for sink in self.sinks:
            beat = sink.step(self.now)
            shown.append(beat and (_masked(beat, self._keep_bits(sink)), beat.keep, beat.last))
        self._digest.update(repr((moved, shown)).encode())
        self.tally.cycles += 1
        self.tally.checks += len(self.sinks)
        return moved or sum(len(sink.received) for sink in self.sinks) > taken

    async def run(self, packets: Sequence[Packet]) -> list[Delivery]:
        """Sends packets back to back, waits until all have come out, and checks every bit of them.

        Also waits a little longer: nothing more may come.
        """
        self._forget()
        for sink in self.sinks:
            sink.received.clear()
            sink.held_back.clear()
        self.input.held_back.clear()
        self.offer(packets)
        idle = ended = seen = 0
        while ended < len(packets) or (self.report is not None and len(self.report.received) < len(packets)):
            idle = 0 if await self.cycle() else idle + 1
            ended += sum(beat.last for _, beat in self.output.received[seen:])
            seen = len(self.output.received)
            if idle > _PATIENCE:
                raise RuleError(f"nothing moves: {len(self.input.queue)} beats wait at the input")
        for _ in range(4):
            await self.cycle()
        return self._check(packets)

    def _check(self, packets: Sequence[Packet]) -> list[Delivery]:
        reports = [beat.data for _, beat in self.report.received] if self.report is not None else None
        beats = sum(len(packet.expected) for packet in packets)
        if len(self.output.received) != beats or (reports is not None and len(reports) != len(packets)):
            raise RuleError(
                f"{len(self.output.received)} beats and {len(reports or ())} reports came out of {len(packets)} packets, "
                f"which have {beats} beats"
            )
        deliveries = []
        start = 0
        for index, packet in enumerate(packets):
            group = self.output.received[start : start + len(packet.expected)]
            taken = self.input.taken[start : start + len(packet.expected)]
            start += len(packet.expected)
            for place, ((_, beat), expected) in enumerate(zip(group, packet.expected, strict=True)):
                got = Beat(_masked(beat, self._keep_bits(self.output)), beat.keep, beat.last)
                if got != expected:
                    raise RuleError(f"packet {index}, beat {place}: {got}, not {expected}")
            if reports is not None and reports[index] != packet.reported | packet.first << 32:
                raise RuleError(
                    f"packet {index}: {reports[index] & 0xFFFFFFFF} reported, the first is {reports[index] >> 32}; "
                    f"not {packet.reported}, {packet.first}"
                )
            report = self.report.received[index][0] if self.report is not None else None
            deliveries.append(self._delivery(packet, taken, [when for when, _ in group], report))
            self.tally.packets += 1
            self.tally.words += packet.words
            self.tally.checks += len(group) + (reports is not None)
        self._deliveries.append(deliveries)
        return deliveries

    def _delivery(
        self, packet: Packet, taken: Sequence[int], given: Sequence[int], report: int | None
    ) -> Delivery:
        spans: list[tuple[StreamSource | StreamSink, int]] = [
            (self.input, taken[-1]),
            (self.output, given[-1]),
        ]
        if self.report is not None and report is not None:
            spans.append((self.report, report))
        held = []
        for end, last in spans:
            at = bisect_left(end.held_back, taken[0])
            if at < len(end.held_back) and end.held_back[at] <= last:
                held.append(end.name)
        return Delivery(packet, taken, given, report, held)

    def samples(self) -> Iterator[dict[str, Any]]:
        """What is told of each packet to those who count situations."""
        for deliveries in self._deliveries:
            for before, this in zip([None, *deliveries], deliveries, strict=False):
                yield {
                    "words": this.packet.words,
                    "step": this.packet.step,
                    "kinds": sorted(self._kinds(this.packet)),
                    "reported": this.packet.reported,
                    "first": this.packet.first,
                    "held": this.held,
                    "before": None if before is None else before.packet.step,
                    "gap": None if before is None else this.taken[0] - before.taken[-1] - 1,
                }

    def _kinds(self, packet: Packet) -> set[str]:
        """The kinds of what came in."""
        form = self.design.config.form
        words = set(kept_words(packet, self.design.bits_in))
        if self.design.quantises:
            return {number_kind(word, packet.step, form) for word in words}
        return {integer_kind(word, form) for word in words}

    def _waits_for_step(self) -> bool:
        """Whether the beat at the head of the queue waits for its step, which a quantiser has to have a cycle before."""
        self._asked = True
        step = self._steps[len(self.input.taken)]
        if self._driven == step:
            return False
        self._drive_step(step)
        return self.design.quantises

    def _drive_step(self, step: int | None) -> None:
        """Puts a step on the port; without one anything, as it does not matter."""
        port = self.dut.step
        port.value = self.rng.getrandbits(len(port)) if step is None else step
        self._driven = step

    def _forget(self) -> None:
        self._steps.clear()
        self.input.taken.clear()
        self._driven = None

    def _keep_bits(self, sink: StreamSink) -> int:
        """Bits of data for a bit of ``keep``; 0 where there is none."""
        return min(8, self.design.bits_out) if sink is self.output else 0

    def _look_for_unknowns(self, *, reset: bool) -> None:
        if self._unknowns is not None:
            self._unknowns.cycle(int(getattr(self.dut, UNKNOWN).value), reset)


def _masked(beat: Beat, bits: int) -> int:
    """The data of a beat, with 0 wherever ``keep`` has no bit; all of them, if there is no ``keep``."""
    if not bits:
        return beat.data
    lane = (1 << bits) - 1
    mask = sum(lane << (bits * index) for index in range(beat.keep.bit_length()) if beat.keep >> index & 1)
    return beat.data & mask
