"""Stream formats: the interface that all have, the format of zeros and frequent values, and formats with a name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from cdma.base.errors import ParameterError

from .settings import check_choice, check_range, check_settings, is_int, setting, word_count

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
    #: 2 if a mask in front of each group of windows says which of them the stream has.
    levels: int = 1
    #: Windows that share a mask, with two levels.
    group: int = 32

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

    @property
    def mask_words(self) -> int:
        """Stream words of the mask of a group and its padding; none with one level."""
        return self._aligned(self.group // self.stream_bits) if self.levels == 2 else 0

    @property
    def group_words(self) -> int:
        """Raw words of what a stream can be cut into: a window, or a group of them."""
        return self.window * (self.group if self.levels == 2 else 1)

    def bound(self, words: int) -> int:
        """The most stream words that a packet of ``words`` words can become."""
        words = word_count(words)
        windows, rest = divmod(words, self.window)
        masks = -(-words // self.group_words) * self.mask_words
        return masks + windows * self._padded(self.window) + (self._padded(rest) if rest else 0)

    def least(self, words: int) -> int:
        """Stream words that a packet of ``words`` words has whatever these are: masks, or else headers."""
        return -(-words // self.group_words) * (self.mask_words or self.header_words)

    def bound_bytes(self, words: int) -> int:
        """The most bytes that a packet of ``words`` words of whole bytes can become."""
        return self.bound(words) * self.stream_bits // 8

    def _padded(self, words: int) -> int:
        """Stream words of a window with ``words`` words, all of them stored."""
        return self._aligned(self.header_words + words * self.parts)

    def _aligned(self, length: int) -> int:
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


#: The parameters that a format's settings leave out where they say nothing.
_EXTRAS = ("field_bits", "rotate", "zero", "align", "levels", "group")


@dataclass(frozen=True)
class Format(StreamFormat):
    """The format of a compressed stream; see ``docs/format.md``.

    ``code_bits``: Bits of one code in the header; code ``2**code_bits - 1`` says "literal".
    ``values``: The frequent values, lowest code first; ``(0,)`` with one code bit is zero-value compression. With a
        field, the frequent values of the field.
    ``field_bits``: Bits of the field, a multiple of 8; 0 for none, which makes codes of whole words. A code then says
        which bytes of a word are in the stream: all of them, or those outside the field.
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
    levels: int = setting(
        1,
        "1, or 2 for a mask in front of each group of windows, without those that are all code 0",
        allowed=(1, 2),
        why="windows, or windows and groups of them",
    )
    group: int = setting(
        32,
        "windows of a group with two levels: 8, 16, 32 or 64",
        allowed=(8, 16, 32, 64),
        why="the windows that share a mask",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        self._check_field()
        self._check_values()
        self._check_levels()
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

    def _check_levels(self) -> None:
        if self.levels == 1:
            if self.group != Format.group:
                raise ParameterError(f"group is {self.group}; only a format of two levels has groups")
        elif self.field_bits and not self.zero:
            raise ParameterError(
                "levels is 2 in a format with a field; it needs zero, without which code 0 still sends bytes"
            )
        elif self.group % self.stream_bits:
            raise ParameterError(
                f"group is {self.group}; the mask of a group must be whole words of {self.stream_bits} bits"
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
        """The parameters as plain values; those of fields, padding and levels where they differ from their defaults."""
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
        if self.levels == 2:
            rows["levels"] = f"2, groups of {self.group} windows"
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
        if self.levels == 2:
            codes += f", two levels, groups of {self.group}"
        return f"window {self.window}, {self.code_bits}-bit codes, {codes}"


#: Exponents of bf16 and fp32 that serve numbers of magnitudes from 2^-7 to 2^-1, as trained weights and many activations
#: have; a table that is fitted to the data serves better.
EXPONENTS = (125, 124, 123, 122, 121, 120)


@dataclass(frozen=True)
class Preset:
    """A format that has a name.

    ``parameters``: Those of the format that differ from their defaults.
    ``summary``: What it is for, in a phrase.
    """

    parameters: Mapping[str, Any]
    summary: str


_EXPONENT = {"code_bits": 3, "values": EXPONENTS, "field_bits": 8, "rotate": 1, "zero": True}

#: Every preset by name, in the order in which people see them. A new preset is a line here.
PRESETS: dict[str, Preset] = {
    "zvc32": Preset({"word_bits": 32}, "sparse fp32 and int32: a mask bit per word"),
    "zvc16": Preset({"word_bits": 16}, "sparse fp16, bf16 and int16: a mask bit per word"),
    "zvc8": Preset({"word_bits": 8}, "sparse int8 and fp8: a mask bit per word"),
    "bf16": Preset(
        {"word_bits": 16, **_EXPONENT}, "bf16, sparse or dense: codes of zero and of six exponents"
    ),
    "fp32": Preset(
        {"word_bits": 32, **_EXPONENT}, "fp32, sparse or dense: codes of zero and of six exponents"
    ),
    "aie-ml": Preset({"word_bits": 8, "align": 4}, "the DMA of AMD's AIE-ML (Phoenix, npu1)"),
    "aie2p": Preset({"word_bits": 8, "window": 64, "align": 4}, "the DMA of AMD's AIE2P (Strix, npu2)"),
}


def preset_named(name: object) -> Preset:
    if not isinstance(name, str) or name not in PRESETS:
        raise ParameterError(f"format is {name!r}; it must be one of {', '.join(PRESETS)}")
    return PRESETS[name]


def require_stream_format(format: object) -> None:
    """Refuses what is no format of a stream."""
    if not isinstance(format, StreamFormat):
        raise ParameterError(
            f"format is {format!r}; it must be a cdma.Format, such as Format(word_bits=32) or Format.preset('bf16')"
        )
