"""A block with one stream in and one out as a design under test, and a packet that is compared bit by bit."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from cdma.verif.simulator.monitors.rules import Beat, RuleError
from cdma.verif.simulator.simulate import Design


@dataclass(frozen=True)
class Streams:
    """The streams of a block, as the bench must know them.

    ``word_bits``, ``words``: The bits of a word that goes out, and the words of a beat. A word has a bit of ``keep``
        for each of its bytes, and at least one.
    ``report``: The fields of a report, lowest first, of 32 bits but for the last one; empty without a report.
    ``length``: The words of each packet come in by a stream of their own.
    ``may_be_empty``: The last beat of a packet may be without a word.
    """

    word_bits: int
    words: int
    report: tuple[str, ...]
    length: bool
    may_be_empty: bool

    @property
    def keeps(self) -> int:
        return max(1, self.word_bits // 8)


class StreamDesign(Design):
    """A codec or a stage as ``cdma generate`` writes it."""

    @property
    @abstractmethod
    def streams(self) -> Streams:
        """Its streams."""


@dataclass(frozen=True)
class Packet(ABC):
    """Beats in, and the golden model's beats out.

    ``length``: Goes in by the stream of lengths, if there is one.
    ``expected``: The beats out; None where only the rules and some of the report are defined.
    """

    beats: Sequence[Beat]
    length: int | None
    expected: Sequence[Beat] | None
    words: int

    @abstractmethod
    def fields(self, words_out: int) -> Mapping[str, int]:
        """The defined fields of the report, after so many words out."""


@cache
def kept(keep: int, bits: int) -> int:
    """The bits of data that ``keep`` leaves in, which has a bit for as many ``bits``."""
    places = (place for place in range(keep.bit_length()) if keep >> place & 1)
    return sum(((1 << bits) - 1) << bits * place for place in places)


class PacketCheck:
    """Compares the output and the reports of a block."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._keep_bits = streams.word_bits // streams.keeps

    def masked(self, beat: Beat) -> int:
        """The data of a beat, 0 where ``keep`` has no bit."""
        return beat.data & kept(beat.keep, self._keep_bits)

    def report(self, data: int) -> dict[str, int]:
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
    """For each word of a beat, of ``keeps`` bits, a keep without it below a kept one, and one with a part of it."""
    whole, word = (1 << (words * keeps)) - 1, (1 << keeps) - 1
    for lane in range(words):
        if lane + 1 < words:
            yield whole & ~(word << (lane * keeps))
        if keeps > 1:
            part = (1 << rng.randint(1, keeps - 1)) - 1
            yield part << (lane * keeps) | ((1 << (lane * keeps)) - 1)
