"""A block with one stream in and one out as a design under test. A packet of stimulus, what must come of it, and the
comparison of both, bit by bit.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cdma.verif.simulator.monitors.rules import Beat, RuleError
from cdma.verif.simulator.simulate import Design

__all__ = ["Packet", "PacketCheck", "StreamDesign", "Streams", "broken_keeps"]


@dataclass(frozen=True)
class Streams:
    """What the bench must know of the streams of a block, beside their names.

    ``word_bits``, ``words``
        Are the bits of a word that goes out, and the words of a beat. A word has a bit of ``keep`` for each of its bytes,
        and at least one.
    ``report``
        Names the fields of a report, lowest first, of 32 bits but for the last one; nothing, where there is no report.
    ``length``
        Says whether the words of each packet come in by a stream of their own.
    ``may_be_empty``
        Says whether the last beat of a packet may be without a word.
    """

    word_bits: int
    words: int
    report: tuple[str, ...]
    length: bool
    may_be_empty: bool

    @property
    def keeps(self) -> int:
        """Bits of ``keep`` of a word."""
        return max(1, self.word_bits // 8)


class StreamDesign(Design):
    """A codec or a stage as ``cdma generate`` writes it."""

    @property
    @abstractmethod
    def streams(self) -> Streams:
        """Its streams."""


@dataclass(frozen=True)
class Packet(ABC):
    """What goes in, beat by beat, and what the golden model makes of it.

    ``length``
        Goes in by the stream of lengths; None, where there is none.
    ``expected``
        Has the beats that must come out; None where only the rules and some of the report are laid down.
    ``words``
        Counts the words of the packet.
    """

    beats: Sequence[Beat]
    length: int | None
    expected: Sequence[Beat] | None
    words: int

    @abstractmethod
    def fields(self, words_out: int) -> Mapping[str, int]:
        """The fields of the report that are laid down, where so many words have come out."""


class PacketCheck:
    """Compares the packets and the reports that come out of a block."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._keep_bits = streams.word_bits // streams.keeps
        self._masks: dict[int, int] = {}

    def masked(self, beat: Beat) -> int:
        """The data of a beat, with 0 wherever ``keep`` has no bit."""
        mask = self._masks.get(beat.keep)
        if mask is None:
            part = (1 << self._keep_bits) - 1
            kept = (index for index in range(beat.keep.bit_length()) if beat.keep >> index & 1)
            mask = self._masks[beat.keep] = sum(part << (self._keep_bits * index) for index in kept)
        return beat.data & mask

    def report(self, data: int) -> dict[str, int]:
        """The fields of a report."""
        names = self._streams.report
        fields = {name: data >> (32 * index) & 0xFFFFFFFF for index, name in enumerate(names[:-1])}
        return {**fields, names[-1]: data >> (32 * (len(names) - 1))}

    def __call__(self, packet: Packet, beats: Sequence[Beat], report: int | None) -> int:
        """Raises :class:`.RuleError` at the first difference; returns the number of comparisons."""
        if packet.expected is not None:
            self._compare_beats(beats, packet.expected)
        if report is not None:
            words_out = sum(beat.keep.bit_count() for beat in beats) // self._streams.keeps
            got, want = self.report(report), packet.fields(words_out)
            if any(got[name] != value for name, value in want.items()):
                raise RuleError(f"the report has {_spelt(got)}; it should have {_spelt(want)}")
        return len(beats) + len(self._streams.report)

    def _compare_beats(self, beats: Sequence[Beat], expected: Sequence[Beat]) -> None:
        for index, (beat, right) in enumerate(zip(beats, expected, strict=False)):
            if (beat.keep, beat.last) != (right.keep, right.last):
                raise RuleError(
                    f"beat {index} has keep {beat.keep:#x} and last {int(beat.last)}, "
                    f"not keep {right.keep:#x} and last {int(right.last)}"
                )
            wrong = self.masked(beat) ^ right.data
            if wrong:
                bits = self._streams.word_bits
                lane = ((wrong & -wrong).bit_length() - 1) // bits
                got, want = (value >> (lane * bits) & ((1 << bits) - 1) for value in (beat.data, right.data))
                raise RuleError(f"beat {index}, lane {lane} is {got:#x}, not {want:#x}")
        if len(beats) != len(expected):
            raise RuleError(f"{len(beats)} beats came out, not {len(expected)}")


def _spelt(fields: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items())


def broken_keeps(rng: random.Random, words: int, keeps: int) -> Iterator[int]:
    """For each word of a beat, a keep without that word below one that is there, and one with only a part of it.

    A word has so many ``keeps``.
    """
    whole, word = (1 << (words * keeps)) - 1, (1 << keeps) - 1
    for lane in range(words):
        if lane + 1 < words:
            yield whole & ~(word << (lane * keeps))
        if keeps > 1:
            part = (1 << rng.randint(1, keeps - 1)) - 1
            yield part << (lane * keeps) | ((1 << (lane * keeps)) - 1)
