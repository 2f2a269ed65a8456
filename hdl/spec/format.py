"""The format of zeros and frequent values: one frozen, validated object for software and hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from .checks import check_choice, is_int
from .errors import ParameterError
from .stream_format import StreamFormat

__all__ = ["Format"]


_WORD_BITS = (2, 4, 8, 16, 32)
_WINDOWS = (4, 8, 16, 32, 64)
_CODE_BITS = (1, 2, 4)


@dataclass(frozen=True)
class Format(StreamFormat):
    """The format of a compressed stream; see ``docs/format.md``.

    ``word_bits``
        Bits of one word, the unit that is frequent or not.
    ``window``
        Words that share one header.
    ``code_bits``
        Bits of one code in the header; code ``2**code_bits - 1`` says "literal".
    ``values``
        The frequent values, lowest code first; ``(0,)`` with one code bit is zero-value compression.
    """

    codec: ClassVar[str] = "frequent-value"

    word_bits: int = 32
    window: int = 32
    code_bits: int = 1
    values: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        check_choice(
            "word_bits", self.word_bits, _WORD_BITS, "formats for users have 8, 16 or 32, proofs use 2 and 4"
        )
        check_choice(
            "window", self.window, _WINDOWS, "formats for users have 32 or 64, proofs use 4, 8 and 16"
        )
        check_choice("code_bits", self.code_bits, _CODE_BITS, "a header packs codes of 1, 2 or 4 bits")
        try:
            values = tuple(self.values)
        except TypeError:
            raise ParameterError(f"values is {self.values!r}; it must be a sequence of words") from None
        object.__setattr__(self, "values", values)
        if not 1 <= len(values) <= self.literal_code:
            raise ParameterError(
                f"values has {len(values)} entries; {self.code_bits} code bits allow 1 to {self.literal_code}, "
                "because the all-ones code means literal"
            )
        for entry in values:
            if not is_int(entry) or not 0 <= entry < 1 << self.word_bits:
                raise ParameterError(
                    f"values has the entry {entry!r}; an entry is an unsigned word of {self.word_bits} bits, "
                    f"0 to {(1 << self.word_bits) - 1}"
                )
        if (self.window * self.code_bits) % self.word_bits:
            raise ParameterError(
                f"a header of {self.window} codes of {self.code_bits} bits has {self.window * self.code_bits} bits, "
                f"which is not a whole number of words of {self.word_bits} bits"
            )

    @property
    def header_words(self) -> int:
        """Words that one header takes."""
        return self.window * self.code_bits // self.word_bits

    def with_table(self, values: Sequence[int]) -> Format:
        """The format with other frequent values."""
        return replace(self, values=tuple(values))

    def held_bits(self, block: str) -> int:
        """A compressor holds the words of a window until its header is known, a decompressor holds the header."""
        return self.window * (self.word_bits if block == "compressor" else self.code_bits)

    def describe(self) -> dict[str, object]:
        """The rows about the format for the head of generated files, without the bits of a word."""
        values = ", ".join(f"{value:#x}" for value in self.values)
        return {"window": self.window, "code bits": self.code_bits, "values": values}

    def summary(self, *, at_run_time: bool) -> str:
        """The format in a few words, for the title of a report."""
        if at_run_time:
            codes = "run-time table"
        elif self.values == (0,) and self.code_bits == 1:
            codes = "zero-value"
        else:
            codes = f"{len(self.values)} values"
        return f"window {self.window}, {self.code_bits}-bit codes, {codes}"
