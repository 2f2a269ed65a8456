"""What the formats of all codecs have in common, as software and hardware see them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from .checks import is_int
from .errors import ParameterError

__all__ = ["StreamFormat"]

_Format = TypeVar("_Format", bound="StreamFormat")


class StreamFormat:
    """The format of a compressed stream: a frozen dataclass of plain values for each codec.

    A packet of words is cut into windows, and each window becomes a header of ``header_words`` words and what the
    codec stores of its words. The number of words travels beside the stream.
    """

    #: The name of the codec, as it stands in :data:`.codecs.CODECS`.
    codec: ClassVar[str]

    #: Bits of one word of raw data, and of one word of the stream.
    word_bits: int
    #: Words of raw data that share a header.
    window: int
    #: Bits of one code in a header; 0 for a codec without codes.
    code_bits: int = 0
    #: The table of frequent values; empty for a codec without one.
    values: tuple[int, ...] = ()

    @property
    def literal_code(self) -> int:
        """The all-ones code, which marks a literal."""
        return (1 << self.code_bits) - 1

    @property
    def header_words(self) -> int:
        """Words that one header takes."""
        return 0

    def bound(self, words: int) -> int:
        """The most words that a packet of ``words`` words can become."""
        if not is_int(words) or words < 0:
            raise ParameterError(f"words is {words!r}; it must be a whole number of words, 0 or more")
        return -(-words // self.window) * self.header_words + words

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
