"""A block with one stream in and one out as a design under test."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from cdma.verif.simulator.design import Design

__all__ = ["StreamDesign", "Streams"]


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
