"""The format of a compressed stream: one frozen, validated object for software and hardware."""

from __future__ import annotations

from dataclasses import dataclass

from .checks import check_choice, is_int
from .errors import ParameterError

__all__ = ["Format"]


_WORD_BITS = (2, 4, 8, 16, 32)
_WINDOWS = (4, 8, 16, 32, 64)
_CODE_BITS = (1, 2, 4)


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
    def literal_code(self) -> int:
        """The all-ones code, which marks a literal."""
        return (1 << self.code_bits) - 1

    @property
    def header_words(self) -> int:
        """Words that one header takes."""
        return self.window * self.code_bits // self.word_bits

    def bound(self, words: int) -> int:
        """The most words that a packet of ``words`` words can become."""
        if not is_int(words) or words < 0:
            raise ParameterError(f"words is {words!r}; it must be a whole number of words, 0 or more")
        return -(-words // self.window) * self.header_words + words
