"""The kinds of numbers and integers that a stage treats in different ways, by the definition of the format."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.spec.quantisation import Quantisation

__all__ = ["integer_kind", "integer_kinds", "number_kind", "number_kinds"]

#: Kinds of numbers by their bits alone.
_ZERO, _SUBNORMAL, _INFINITE, _NAN = "zero", "subnormal", "infinite", "NaN"
#: Kinds of the other ones by what they are in steps.
_BEYOND, _LIMIT = "out of range", "rounded to the limit"
_SMALL, _WHOLE = "less than half a step", "whole steps"
_TIES = ("half way, rounded down", "half way, rounded up")
_ROUNDED = ("rounded down", "rounded up")

_SIGNS = ("positive", "negative")


def number_kind(word: int, step: int, form: Quantisation) -> str:
    """The kind and the sign of a number, given as bits; ``step`` is as the port has it."""
    number = form.number_type
    fraction = word & ((1 << number.fraction_bits) - 1)
    stored = word >> number.fraction_bits & ((1 << number.exponent_bits) - 1)
    return f"{_kind(stored, fraction, step, form)}, {_SIGNS[word >> (number.bits - 1)]}"


def _kind(stored: int, fraction: int, step: int, form: Quantisation) -> str:
    number = form.number_type
    if stored == (1 << number.exponent_bits) - 1:
        return _NAN if fraction else _INFINITE
    if stored == 0:
        return _SUBNORMAL if fraction else _ZERO
    # Twice the number, in steps, is whole and a rest.
    significand, place = fraction + (1 << number.fraction_bits), stored - step + 1
    if place < 0:
        return _SMALL
    doubled = significand << place
    halves, rest = doubled >> number.fraction_bits, doubled & ((1 << number.fraction_bits) - 1)
    below, beside = halves >> 1, halves & 1
    up = bool(beside and (rest or below & 1))
    if below + up > form.limit:
        return _BEYOND
    if not rest:
        return _TIES[up] if beside else _WHOLE
    return _LIMIT if below + up == form.limit else _ROUNDED[up]


def number_kinds(form: Quantisation, step: int) -> Iterator[str]:
    """The kinds of numbers that there are with a step."""
    kinds = [_ZERO, _SUBNORMAL, _INFINITE, _NAN, _BEYOND, _WHOLE, *_TIES, *_ROUNDED]
    if step > 1:
        # With the least step, what is less than one is subnormal.
        kinds.append(_SMALL)
    if form.number_type.fraction_bits >= form.bits:
        # Else the numbers beside the limit are whole steps and halves.
        kinds.append(_LIMIT)
    for kind in kinds:
        yield from (f"{kind}, {sign}" for sign in _SIGNS)


def integer_kind(word: int, form: Quantisation) -> str:
    """The kind of an integer, given as bits."""
    value = word - (word >> (form.bits - 1) << form.bits)
    named = {0: "0", 1: "1", -1: "-1", form.limit: "the limit", -form.limit: "less the limit"}
    if value in named:
        return named[value]
    if value < -form.limit:
        return "the least"
    return _SIGNS[value < 0] + (" power of two" if abs(value).bit_count() == 1 else "")


def integer_kinds() -> list[str]:
    """The kinds of integers."""
    others = [f"{sign}{kind}" for sign in _SIGNS for kind in ("", " power of two")]
    return ["0", "1", "-1", "the limit", "less the limit", "the least", *others]
