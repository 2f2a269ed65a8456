"""Parameters shared by software and hardware: one frozen, validated object for both.

This module imports neither Amaranth nor numpy, so that software that only moves data stays light.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ParameterError

__all__ = ["CodecConfig", "Format"]

_WORD_BITS = (2, 4, 8, 16, 32)
_WINDOWS = (4, 8, 16, 32, 64)
_CODE_BITS = (1, 2, 4)
_LANES = (1, 2, 4, 8, 16, 32, 64)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _choice(name: str, value: object, allowed: tuple[int, ...], why: str) -> None:
    if not _is_int(value) or value not in allowed:
        choices = ", ".join(map(str, allowed))
        raise ParameterError(f"{name} is {value!r}; it must be one of {choices}: {why}")


@dataclass(frozen=True)
class Format:
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

    word_bits: int = 32
    window: int = 32
    code_bits: int = 1
    values: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        _choice(
            "word_bits", self.word_bits, _WORD_BITS, "formats for users have 8, 16 or 32, proofs use 2 and 4"
        )
        _choice("window", self.window, _WINDOWS, "formats for users have 32 or 64, proofs use 4, 8 and 16")
        _choice("code_bits", self.code_bits, _CODE_BITS, "a header packs codes of 1, 2 or 4 bits")
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
            if not _is_int(entry) or not 0 <= entry < 1 << self.word_bits:
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
    def literal_code(self) -> int:
        """The all-ones code, which marks a literal."""
        return (1 << self.code_bits) - 1

    @property
    def header_words(self) -> int:
        """Words that one header takes."""
        return self.window * self.code_bits // self.word_bits

    def bound(self, words: int) -> int:
        """The most words that a packet of ``words`` words can become."""
        if not _is_int(words) or words < 0:
            raise ParameterError(f"words is {words!r}; it must be a whole number of words, 0 or more")
        return -(-words // self.window) * self.header_words + words


@dataclass(frozen=True)
class CodecConfig:
    """What one compressor or decompressor is generated from: a format and the shape of its datapath.

    ``lanes``
        Words of one bus beat: a power of two from 1 to 64, at most the window.
    ``runtime_values``
        The table of frequent values is an input port with ``2**code_bits - 1`` entries instead of constants;
        ``format.values`` then only says what a bench drives.
    """

    format: Format = Format()
    lanes: int = 8
    runtime_values: bool = False

    def __post_init__(self) -> None:
        _choice("lanes", self.lanes, _LANES, "a beat has a power of two of words, at most 64")
        if self.lanes > self.format.window:
            raise ParameterError(
                f"lanes is {self.lanes}; it must not exceed the window of {self.format.window} words, "
                "because a beat never spans two windows"
            )

    @property
    def beats(self) -> int:
        """Beats of a whole window of raw words."""
        return self.format.window // self.lanes

    @property
    def data_bits(self) -> int:
        """Bits of one beat."""
        return self.lanes * self.format.word_bits

    @property
    def table_size(self) -> int:
        """Entries of the frequent-value table that the hardware compares with."""
        return self.format.literal_code if self.runtime_values else len(self.format.values)
