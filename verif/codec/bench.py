"""The bench: drives and watches every stream of a codec, cycle by cycle, and compares with the golden model.

One coroutine does all the work of a cycle. Nothing else wakes up, which is what lets Python keep up with
thousands of packets. All signals are read as the clock edge sees them, and driven just after it.
"""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from cdma.verif.monitors.pauses import Pause, always
from cdma.verif.monitors.rules import Beat, RuleError, StreamRules

from .design import CodecDesign
from .traffic import Packet

__all__ = ["Bench", "Delivery", "Tally"]

#: Cycles without any transfer, with every source and sink willing, after which the design is said to hang.
_PATIENCE = 400


@dataclass
class Tally:
    """What a test has done, so that nothing can pass by doing nothing."""

    packets: int = 0
    words: int = 0
    checks: int = 0
    cycles: int = 0
    notes: dict[str, Any] = field(default_factory=dict)


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


class _Source:
    """Drives one stream; what it offers stays until it is taken."""

    def __init__(self, dut: Any, name: str, fields: Sequence[str]) -> None:
        self.name = name
        self._fields = [getattr(dut, f"{name}_t{part}") for part in fields]
        self._valid = getattr(dut, f"{name}_tvalid")
        self._ready = getattr(dut, f"{name}_tready")
        self.queue: deque[tuple[int, ...]] = deque()
        self.pause: Pause = always(random.Random())
        #: The cycles in which a transfer happened.
        self.taken: list[int] = []
        #: May hold back the transfer at the head of the queue for as long as it says so.
        self.gate: Callable[[], bool] | None = None
        self._offering = False
        self._valid.value = 0

    def step(self, cycle: int) -> bool:
        """One clock edge; says whether a transfer happened."""
        moved = False
        ready = int(self._ready.value) == 1
        if self._offering and ready:
            self.queue.popleft()
            self.taken.append(cycle)
            moved = True
        if moved or not self._offering:
            offering = bool(self.queue) and not self.pause(ready) and (self.gate is None or not self.gate())
            if offering:
                for signal, value in zip(self._fields, self.queue[0], strict=True):
                    signal.value = value
            if offering != self._offering:
                self._valid.value = int(offering)
                self._offering = offering
        return moved

    def clear(self) -> None:
        """Forgets everything, as a neighbour in the same reset does."""
        self.queue.clear()
        self._offering = False
        self._valid.value = 0


class _Sink:
    """Takes from one stream, and watches its rules."""

    def __init__(self, dut: Any, name: str, rules: StreamRules, packed: bool) -> None:
        self.name = name
        self.rules = rules
        self._data = getattr(dut, f"{name}_tdata")
        self._keep = getattr(dut, f"{name}_tkeep") if packed else None
        self._last = getattr(dut, f"{name}_tlast") if packed else None
        self._valid = getattr(dut, f"{name}_tvalid")
        self._ready = getattr(dut, f"{name}_tready")
        self.pause: Pause = always(random.Random())
        self.received: list[tuple[int, Beat]] = []
        self._willing = False
        self._ready.value = 0

    def step(self, cycle: int) -> Beat | None:
        """One clock edge; the beat on offer, whether taken or not."""
        beat = None
        if int(self._valid.value):
            data = int(self._data.value)
            if self._keep is not None and self._last is not None:
                keep = int(self._keep.value)
                beat = Beat(data, keep, bool(int(self._last.value)))
            else:
                beat = Beat(data)
        self.rules.sample(beat, self._willing)
        if beat is not None and self._willing:
            self.received.append((cycle, beat))
        willing = not self.pause(beat is not None)
        if willing != self._willing:
            self._ready.value = int(willing)
            self._willing = willing
        return beat

    def step_in_reset(self) -> None:
        """One clock edge with reset applied."""
        self.rules.reset(bool(int(self._valid.value)))

    def clear(self) -> None:
        """Forgets everything, as a neighbour in the same reset does."""
        self.received.clear()
        self._willing = False
        self._ready.value = 0


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
        self._word_bytes = form.word_bits // 8
        beat_bytes = design.config.lanes * self._word_bytes
        self.input = _Source(dut, "s_axis", ("data", "keep", "last"))
        self.length = _Source(dut, "s_length", ("data",)) if design.block == "decompressor" else None
        self._rules = StreamRules("m_axis", beat_bytes, self._word_bytes, design.block == "decompressor")
        self.output = _Sink(dut, "m_axis", self._rules, True)
        self.report = _Sink(dut, "m_report", StreamRules("m_report"), False)
        self._edge = RisingEdge(dut.aclk)
        self._masks: dict[int, int] = {}
        self._digest = hashlib.sha256()
        self.now = 0
        dut.aresetn.value = 0

    @property
    def sources(self) -> list[_Source]:
        """The sources of the bench."""
        return [self.input] if self.length is None else [self.input, self.length]

    @property
    def digest(self) -> str:
        """A hash of everything that the design showed since reset, cycle by cycle."""
        return self._digest.hexdigest()

    def drive_values(self, values: Sequence[int]) -> None:
        """Puts a table on the port of a design with a run-time table."""
        bits = self.design.config.format.word_bits
        self.dut.values.value = sum(value << (index * bits) for index, value in enumerate(values))

    async def start(self) -> None:
        """Starts the clock and resets."""
        Clock(self.dut.aclk, 10, "ns").start()
        await self.reset()

    async def reset(self, cycles: int = 4) -> None:
        """Applies reset, during which valid must be low, and forgets what was under way."""
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
        self.now += 1
        now = self.now
        moved = self.input.step(now)
        if self.length is not None:
            moved |= self.length.step(now)
        taken = len(self.output.received) + len(self.report.received)
        beat = self.output.step(now)
        report = self.report.step(now)
        shown = (moved, beat and (self._masked(beat), beat.keep, beat.last), report and report.data)
        self._digest.update(repr(shown).encode())
        self.tally.cycles += 1
        self.tally.checks += 2
        return moved or len(self.output.received) + len(self.report.received) > taken

    def _masked(self, beat: Beat) -> int:
        mask = self._masks.get(beat.keep)
        if mask is None:
            mask = 0
            for index in range(beat.keep.bit_length()):
                if beat.keep >> index & 1:
                    mask |= 0xFF << (8 * index)
            self._masks[beat.keep] = mask
        return beat.data & mask

    async def run(self, packets: Sequence[Packet]) -> list[Delivery]:
        """Sends packets back to back, waits until all have come out, and checks every bit of them.

        Also waits a little longer: nothing more may come.
        """
        self.input.taken.clear()
        self.output.received.clear()
        self.report.received.clear()
        self.offer(packets)
        idle = 0
        ended = 0
        seen = 0
        while ended < len(packets) or len(self.report.received) < len(packets):
            idle = 0 if await self.cycle() else idle + 1
            for _, beat in self.output.received[seen:]:
                ended += beat.last
            seen = len(self.output.received)
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
                self._check_packet(packet, [beat for _, beat in group], report.data)
            except RuleError as error:
                raise RuleError(f"packet {index} of {len(packets)} ({packet.words} words): {error}") from None
            taken = self.input.taken[start : start + len(packet.beats)]
            start += len(packet.beats)
            deliveries.append(Delivery(packet, taken[0], taken[-1], group[0][0], group[-1][0], when))
            self.tally.packets += 1
            self.tally.words += packet.words
        return deliveries

    def _check_packet(self, packet: Packet, beats: Sequence[Beat], report: int) -> None:
        fields = (report & 0xFFFFFFFF, report >> 32 & 0xFFFFFFFF, report >> 64 & 0xFFFFFFFF, report >> 96)
        words_out = sum(beat.keep.bit_count() for beat in beats) // self._word_bytes
        want = packet.report
        self.tally.checks += len(beats) + 4
        if packet.expected is None:
            if fields[3] != want.error:
                raise RuleError(f"the report's error is {fields[3]}, not {want.error}")
            if fields[1] != words_out:
                raise RuleError(f"the report says {fields[1]} words out, {words_out} came")
            return
        for index, (beat, expected) in enumerate(zip(beats, packet.expected, strict=False)):
            if (beat.keep, beat.last) != (expected.keep, expected.last):
                raise RuleError(
                    f"beat {index} has keep {beat.keep:#x} and last {int(beat.last)}, "
                    f"not keep {expected.keep:#x} and last {int(expected.last)}"
                )
            if self._masked(beat) != expected.data:
                wrong = self._masked(beat) ^ expected.data
                bits = self.design.config.format.word_bits
                lane = ((wrong & -wrong).bit_length() - 1) // bits
                got, right = (
                    value >> (lane * bits) & ((1 << bits) - 1) for value in (beat.data, expected.data)
                )
                raise RuleError(f"beat {index}, lane {lane} is {got:#x}, not {right:#x}")
        if len(beats) != len(packet.expected):
            raise RuleError(f"{len(beats)} beats came out, not {len(packet.expected)}")
        expected_fields = (want.words_in, want.words_out, want.literals, want.error)
        if fields != expected_fields:
            names = ("words in", "words out", "literals", "error")
            raise RuleError(
                "the report has "
                + ", ".join(f"{name} {value}" for name, value in zip(names, fields, strict=True))
                + "; it should have "
                + ", ".join(f"{name} {value}" for name, value in zip(names, expected_fields, strict=True))
            )
