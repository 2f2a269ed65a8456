"""What the formats of all codecs have in common, as software and hardware see them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from cdma.base.errors import ParameterError

from .checks import word_count

__all__ = ["StreamFormat"]

_Format = TypeVar("_Format", bound="StreamFormat")


class StreamFormat:
    """The format of a compressed stream: a frozen dataclass of plain values for each codec.

    A packet of words is cut into windows, and each window becomes a header of ``header_words`` stream words and what
    the codec stores of its words. The number of words travels beside the stream.

    A stream word, the unit of a stream, is a word where words are stored whole, and a byte where parts of them are.
    """

    #: The name of the codec, as it stands in :data:`.codecs.CODECS`.
    codec: ClassVar[str]

    #: Bits of one word of raw data.
    word_bits: int
    #: Words of raw data that share a header.
    window: int
    #: Bits of one code in a header; 0 for a codec without codes.
    code_bits: int = 0
    #: The table of frequent values; empty for a codec without one.
    values: tuple[int, ...] = ()
    #: Bits of the field of a word that codes are about; 0 where they are about words.
    field_bits: int = 0
    #: Bits that a word is rotated left by in the stream.
    rotate: int = 0
    #: Whether code 0 stands for a word of zeros, of which nothing is stored.
    zero: bool = False
    #: Bytes that the length of each window in the stream is a multiple of.
    align: int = 1

    @property
    def literal_code(self) -> int:
        """The all-ones code, which marks a literal."""
        return (1 << self.code_bits) - 1

    @property
    def stream_bits(self) -> int:
        """Bits of one stream word."""
        return self.word_bits

    @property
    def moved_bits(self) -> int:
        """Bits of what memories move whole: a stream word, or a byte of smaller ones."""
        return max(8, self.stream_bits)

    @property
    def raw_bytes(self) -> int:
        """Bytes of the least raw data: a word, or two of 4 bits."""
        return max(8, self.word_bits) // 8

    @property
    def entry_bits(self) -> int:
        """Bits of an entry of the table."""
        return self.word_bits

    @property
    def parts(self) -> int:
        """Stream words that a word takes at most."""
        return self.word_bits // self.stream_bits

    @property
    def align_words(self) -> int:
        """Stream words that the length of each window in the stream is a multiple of."""
        return 1

    @property
    def padded(self) -> bool:
        """Whether there are windows with padding."""
        return False

    @property
    def header_words(self) -> int:
        """Stream words that one header takes."""
        return 0

    def bound(self, words: int) -> int:
        """The most stream words that a packet of ``words`` words can become."""
        windows, rest = divmod(word_count(words), self.window)
        return windows * self._padded(self.window) + (self._padded(rest) if rest else 0)

    def bound_bytes(self, words: int) -> int:
        """The most bytes that a packet of ``words`` words of whole bytes can become."""
        return self.bound(words) * self.stream_bits // 8

    def _padded(self, words: int) -> int:
        """Stream words of a window with ``words`` words, all of them stored."""
        length = self.header_words + words * self.parts
        return -(-length // self.align_words) * self.align_words

    def table_size(self, *, at_run_time: bool) -> int:
        """Entries of the table; one that comes in ``at_run_time`` has all that the codes allow."""
        return self.literal_code if at_run_time else len(self.values)

    def with_table(self: _Format, values: Sequence[int]) -> _Format:
        """The format with another table, for a codec that has one."""
        return self

    def held_bits(self, block: str) -> int:
        """Bits of a window that a ``compressor`` or ``decompressor`` must hold, whatever its design."""
        return 0

    def describe(self) -> dict[str, object]:
        """The rows about the format for the head of generated files, without the bits of a word."""
        return {"window": self.window}

    def summary(self, *, at_run_time: bool) -> str:
        """The format in a few words, for the title of a report."""
        return f"window {self.window}"

    def settings(self) -> dict[str, Any]:
        """The parameters as plain values, such as JSON and TOML have; :meth:`from_settings` reads them back."""
        settings = dataclasses.asdict(self)  # type: ignore[call-overload]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}

    @classmethod
    def from_settings(cls: type[_Format], settings: Mapping[str, Any]) -> _Format:
        """The format that :meth:`settings` describes; what is left out has its default."""
        names = cls.setting_names()
        if unknown := [name for name in settings if name not in names]:
            raise ParameterError(
                f"the format has no parameter {unknown[0]!r}; the codec {cls.codec} has {', '.join(names)}"
            )
        return cls(**settings)

    @classmethod
    def setting_names(cls) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]
