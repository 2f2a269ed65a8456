"""The format of zeros and frequent values: one frozen, validated object for software and hardware."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cdma.base.errors import ParameterError

from .checks import check_choice, check_range, is_int
from .presets import preset_named
from .settings import check_settings, setting
from .stream_format import StreamFormat

__all__ = ["Format"]


#: The parameters that a format's settings leave out where they say nothing.
_EXTRAS = ("field_bits", "rotate", "zero", "align")


@dataclass(frozen=True)
class Format(StreamFormat):
    """The format of a compressed stream; see ``docs/format.md``.

    ``code_bits``
        Bits of one code in the header; code ``2**code_bits - 1`` says "literal".
    ``values``
        The frequent values, lowest code first; ``(0,)`` with one code bit is zero-value compression. With a field,
        the frequent values of the field.
    ``field_bits``
        Bits of the field, a multiple of 8; 0 for none, which makes codes of whole words. A code then says which bytes
        of a word are in the stream: all of them, or those outside the field.
    """

    codec: ClassVar[str] = "frequent-value"

    word_bits: int = setting(
        32,
        "bits of a word: 8, 16 or 32, or 4, which an engine takes with padded windows",
        allowed=(2, 4, 8, 16, 32),
        why="files have words of 8, 16 or 32, engines also of 4, proofs use 2 and 4",
    )
    window: int = setting(
        32,
        "words per header: 32 or 64",
        allowed=(4, 8, 16, 32, 64),
        why="formats for users have 32 or 64, proofs use 4, 8 and 16",
    )
    code_bits: int = setting(
        1, "bits of a code: 1, 2, 3 or 4", allowed=(1, 2, 3, 4), why="the bits of a code"
    )
    values: tuple[int, ...] = setting(
        (0,),
        "the frequent values, lowest code first, such as 0 0x3f800000; up to 2^N - 1 with N code bits",
        metavar="VALUE",
        engine=False,
    )
    field_bits: int = setting(
        0, "bits of the field that codes are about, such as 8 for an exponent; 0: whole words"
    )
    rotate: int = setting(
        0, "bits that a word is rotated left by so that the field is on top: 1 for an exponent"
    )
    zero: bool = setting(False, "code 0 stands for a whole word of zeros, in a format with a field")
    align: int = setting(
        1,
        "bytes that each window of the stream is padded to: 1, 2, 4 or 8",
        allowed=(1, 2, 4, 8),
        why="bytes that each window is padded to",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        self._check_field()
        self._check_values()
        if (self.window * self.code_bits) % self.stream_bits:
            what = f"words of {self.word_bits} bits" if self.stream_bits == self.word_bits else "bytes"
            raise ParameterError(
                f"a header of {self.window} codes of {self.code_bits} bits has {self.window * self.code_bits} bits, "
                f"which is not a whole number of {what}"
            )

    def _check_field(self) -> None:
        allowed = (0, *range(8, self.word_bits, 8))
        why = "the field is whole bytes of a word of 16 or 32 bits, and not all of it; 0 is no field"
        check_choice("field_bits", self.field_bits, allowed, why)
        check_range("rotate", self.rotate, 0, self.word_bits - 1, "bits that a word is rotated left by")
        for name in ("rotate", "zero"):
            if getattr(self, name) and not self.field_bits:
                raise ParameterError(f"{name} is {getattr(self, name)!r}; only a format with a field has it")

    def _check_values(self) -> None:
        try:
            values = tuple(self.values)
        except TypeError:
            raise ParameterError(f"values is {self.values!r}; it must be a sequence of words") from None
        object.__setattr__(self, "values", values)
        least = 0 if self.zero else 1
        if not least <= len(values) <= self.table_entries:
            first = "code 0 means a word of zeros and " if self.zero else ""
            raise ParameterError(
                f"values has {len(values)} entries; {self.code_bits} code bits allow {least} to {self.table_entries}, "
                f"because {first}the all-ones code means literal"
            )
        bits = self.entry_bits
        what = "field" if self.field_bits else "word"
        for entry in values:
            if not is_int(entry) or not 0 <= entry < 1 << bits:
                raise ParameterError(
                    f"values has the entry {entry!r}; an entry is an unsigned {what} of {bits} bits, "
                    f"0 to {(1 << bits) - 1}"
                )

    @property
    def table_entries(self) -> int:
        """The most entries that the table can have."""
        return self.literal_code - self.zero

    @property
    def entry_bits(self) -> int:
        """Bits of an entry of the table: those of the field, or of a word."""
        return self.field_bits or self.word_bits

    @property
    def stream_bits(self) -> int:
        """Bits of one stream word: a byte with a field, else a word."""
        return 8 if self.field_bits else self.word_bits

    @property
    def align_words(self) -> int:
        """Stream words that the length of each window in the stream is a multiple of."""
        return 1 if self.align == 1 else max(1, self.align * 8 // self.stream_bits)

    @property
    def padded(self) -> bool:
        """Whether there are windows with padding: not if all that they consist of has multiples of ``align`` bytes."""
        lengths = [self.header_words, self.parts]
        if self.field_bits and self.table_entries:
            lengths.append(self.parts - self.field_bits // self.stream_bits)
        return math.gcd(*lengths) % self.align_words != 0

    @property
    def header_words(self) -> int:
        """Stream words that one header takes."""
        return self.window * self.code_bits // self.stream_bits

    def table_size(self, *, at_run_time: bool) -> int:
        """Entries of the table; one that comes in ``at_run_time`` has all that the codes allow."""
        return self.table_entries if at_run_time else len(self.values)

    @classmethod
    def preset(cls, name: str) -> Format:
        """The format of that name; ``cdma formats`` lists the names."""
        return cls(**preset_named(name).parameters)

    def with_table(self, values: Sequence[int]) -> Format:
        """The format with other frequent values."""
        return replace(self, values=tuple(values))

    def held_bits(self, block: str) -> int:
        """A compressor holds the words of a window until its header is known, a decompressor holds the header."""
        return self.window * (self.word_bits if block == "compressor" else self.code_bits)

    def settings(self) -> dict[str, Any]:
        """The parameters as plain values; those of fields and padding only where they differ from their defaults."""
        settings = super().settings()
        for name in _EXTRAS:
            if settings[name] == getattr(Format, name):
                del settings[name]
        return settings

    def describe(self) -> dict[str, object]:
        """The rows about the format for the head of generated files, without the bits of a word."""
        values = ", ".join(f"{value:#x}" for value in self.values)
        rows: dict[str, object] = {"window": self.window, "code bits": self.code_bits, "values": values}
        if self.field_bits:
            rows["field"] = f"{self.field_bits} bits, of words rotated left by {self.rotate}"
            rows["zero words"] = "code 0" if self.zero else "no code of their own"
        if self.align > 1:
            rows["windows padded"] = f"to multiples of {self.align} bytes"
        return rows

    def summary(self, *, at_run_time: bool) -> str:
        """The format in a few words, for the title of a report."""
        if at_run_time:
            codes = "run-time table"
        elif self.values == (0,) and self.code_bits == 1:
            codes = "zero-value"
        else:
            codes = f"{len(self.values)} values"
        if self.field_bits:
            codes += f" of {self.field_bits} bits" + (", zero" if self.zero else "")
        if self.align > 1:
            codes += f", padded to {self.align} bytes"
        return f"window {self.window}, {self.code_bits}-bit codes, {codes}"
