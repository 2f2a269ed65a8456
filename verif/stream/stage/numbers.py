"""Numbers that a quantiser may meet: near its step and its limit, half way between integers, and any bits at all."""

from __future__ import annotations

import random

from cdma.hdl.spec.quantisation import Quantisation

__all__ = ["any_words"]


def any_words(source: random.Random, form: Quantisation, exponent: int, count: int) -> list[int]:
    """The bits of ``count`` numbers; one in ten is any bits, one in ten is zero."""
    return [_word(source, form, exponent) for _ in range(count)]


def _word(source: random.Random, form: Quantisation, exponent: int) -> int:
    number = form.number_type
    kind = source.random()
    if kind < 0.1:
        return source.getrandbits(number.bits)
    if kind < 0.2:
        return source.getrandbits(1) << (number.bits - 1)
    highest = (1 << number.exponent_bits) - 1
    stored = min(max(exponent + number.bias + source.randint(-4, form.bits), 0), highest)
    fraction = source.choice(
        [
            source.getrandbits(number.fraction_bits),
            (1 << number.fraction_bits) - (1 << source.randint(0, number.fraction_bits)),
            1 << source.randrange(number.fraction_bits),
        ]
    )
    return source.getrandbits(1) << (number.bits - 1) | stored << number.fraction_bits | fraction
