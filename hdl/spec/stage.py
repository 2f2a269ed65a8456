"""The error-bounded stage: number types, integers, exponents, and the configuration of a quantiser or dequantiser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .settings import check_choice, check_range, check_settings, own_settings, setting, split_settings


@dataclass(frozen=True)
class NumberType:
    """A binary floating-point type: a sign, ``exponent_bits``, and ``fraction_bits``, from the top down."""

    exponent_bits: int
    fraction_bits: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def bias(self) -> int:
        """What is added to an exponent to store it."""
        return (1 << (self.exponent_bits - 1)) - 1


NUMBERS = {"fp32": NumberType(8, 23), "bf16": NumberType(8, 7), "fp16": NumberType(5, 10)}


@dataclass(frozen=True)
class Quantisation:
    """Numbers to integers and back, with an error of at most half a step; see ``docs/lossy.md``.

    ``keep_nonzero``: True if no number but zero becomes the integer 0: what would, becomes 1 or -1, with an error of at
        most a step.
    """

    number: str = setting(
        "fp32", f"type of the numbers: {', '.join(NUMBERS)}", allowed=(*NUMBERS,), metavar="TYPE"
    )
    bits: int = setting(8, "bits of an integer: 4, 8 or 16, fewer than those of a number")
    keep_nonzero: bool = setting(False, "no number but zero becomes the integer 0")

    def __post_init__(self) -> None:
        check_settings(self)
        why = "the bits of an integer, fewer than those of a number"
        check_choice(
            "bits", self.bits, tuple(bits for bits in (4, 8, 16) if bits < self.number_type.bits), why
        )

    @property
    def number_type(self) -> NumberType:
        """The fields of the numbers."""
        return NUMBERS[self.number]

    @property
    def limit(self) -> int:
        """The largest integer, and the largest magnitude of a negative one."""
        return (1 << (self.bits - 1)) - 1

    @property
    def least_exponent(self) -> int:
        """Of a step: a step is no subnormal number, so that the way back needs none."""
        return 1 - self.number_type.bias

    @property
    def greatest_exponent(self) -> int:
        """Of a step: every integer times the step is a finite number."""
        return self.number_type.bias - self.bits + 1

    @property
    def greatest_step(self) -> int:
        """The greatest exponent of a step, as a number stores it; the least is 1."""
        return self.greatest_exponent + self.number_type.bias

    def step(self, exponent: int) -> int:
        """The exponent of a step as a number stores it, which is what descriptors and ports have."""
        return self.check_exponent(exponent) + self.number_type.bias

    def check_exponent(self, exponent: int) -> int:
        """Returns the exponent of a step; refuses one that is not offered."""
        what = f"the exponent of the step, for {self.number} and integers of {self.bits} bits"
        check_range("exponent", exponent, self.least_exponent, self.greatest_exponent, what)
        return exponent


#: The blocks of an error-bounded stage: towards the codec, and back.
STAGES = ("quantiser", "dequantiser")


@dataclass(frozen=True)
class StageConfig:
    """What one quantiser or dequantiser is generated from: what becomes of a number, and how many come at once.

    ``form``: The numbers and the integers.
    """

    form: Quantisation = Quantisation()
    lanes: int = setting(
        8,
        "numbers of one beat: a power of two, 1 to 64",
        allowed=(1, 2, 4, 8, 16, 32, 64),
        why="a beat has a power of two of numbers, at most 64",
    )

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def number_bytes(self) -> int:
        """Bytes of one beat of numbers."""
        return self.lanes * self.form.number_type.bits // 8

    def settings(self) -> dict[str, Any]:
        """All parameters as plain values; :meth:`from_settings` reads them back."""
        return own_settings(self.form) | own_settings(self)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> StageConfig:
        """The configuration that :meth:`settings` describes; what is left out has its default."""
        form, rest = split_settings(settings, Quantisation)
        return cls(Quantisation(**form), **rest)

    def describe(self) -> dict[str, object]:
        """The rows for the head of generated files, in the order in which one reads them."""
        rows: dict[str, object] = {
            "numbers": self.form.number,
            "integers": f"{self.form.bits} bits",
            "lanes": self.lanes,
        }
        return rows | ({"keep_nonzero": "yes"} if self.form.keep_nonzero else {})
