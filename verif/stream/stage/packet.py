"""Packets of numbers or integers: beats in, the golden model's beats out, and the port ``step``, valid only when needed.

Numbers are near the step and the limit, half way between integers, and any bits at all; kinds of them are by the
definition of the format.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cdma.hdl.spec.stage import Quantisation, StageConfig
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.sim.codec.words import packed_beats
from cdma.verif.simulator.monitors.rules import Beat
from cdma.verif.simulator.monitors.stream_ends import StreamSource
from cdma.verif.stream.packet import Packet

from .design import REPORT


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
    value = word - (word >> (form.bits - 1) << form.bits)
    named = {0: "0", 1: "1", -1: "-1", form.limit: "the limit", -form.limit: "less the limit"}
    if value in named:
        return named[value]
    if value < -form.limit:
        return "the least"
    return _SIGNS[value < 0] + (" power of two" if abs(value).bit_count() == 1 else "")


def integer_kinds() -> list[str]:
    others = [f"{sign}{kind}" for sign in _SIGNS for kind in ("", " power of two")]
    return ["0", "1", "-1", "the limit", "less the limit", "the least", *others]


@dataclass(frozen=True)
class StagePacket(Packet):
    """One packet of stimulus and the expected output.

    ``step``: The exponent of the step as the port has it.
    ``reported``, ``first``: How many numbers are out of range, and the index of the first; both 0 for a dequantiser,
        which reports nothing.
    """

    step: int
    reported: int = 0
    first: int = 0

    def fields(self, words_out: int) -> dict[str, int]:
        return dict(zip(REPORT, (self.reported, self.first), strict=True))


def _beats(words: Sequence[int], bits: int, lanes: int) -> list[Beat]:
    return [Beat(*beat) for beat in packed_beats(words, bits, lanes)]


def quantise_packet(numbers: Sequence[int], exponent: int, config: StageConfig) -> StagePacket:
    """The packet of the bits of these numbers, with steps of ``2**exponent``."""
    form, lanes = config.form, config.lanes
    made = quantise(np.array(numbers, f"u{form.number_type.bits // 8}"), exponent, form)
    integers = [int(word) & ((1 << form.bits) - 1) for word in made.integers]
    return StagePacket(
        _beats(numbers, form.number_type.bits, lanes),
        None,
        _beats(integers, form.bits, lanes),
        len(numbers),
        form.step(exponent),
        made.reported,
        made.first,
    )


def dequantise_packet(integers: Sequence[int], exponent: int, config: StageConfig) -> StagePacket:
    """The packet of these integers in two's complement, in steps of ``2**exponent``."""
    form, lanes = config.form, config.lanes
    signed = np.array([word - (word >> (form.bits - 1) << form.bits) for word in integers])
    numbers = [int(word) for word in dequantise(signed, exponent, form)]
    return StagePacket(
        _beats(integers, form.bits, lanes),
        None,
        _beats(numbers, form.number_type.bits, lanes),
        len(integers),
        form.step(exponent),
    )


def kept_words(packet: StagePacket, bits: int) -> list[int]:
    """The words of ``bits`` that go in and are kept."""
    of_keep = max(1, bits // 8)
    words = [
        beat.data >> (bits * lane) & ((1 << bits) - 1)
        for beat in packet.beats
        for lane in range(beat.keep.bit_count() // of_keep)
    ]
    return words[: packet.words]


def unkept(packet: StagePacket, keep: int) -> StagePacket:
    """A packet of one beat with another ``keep`` without a word: an empty beat, and nothing reported."""
    (beat,) = packet.beats
    return StagePacket([Beat(beat.data, keep, True)], None, [Beat(0, 0, True)], 0, packet.step)


class StepPort:
    """Drives the step of the beat at the head of a source's queue, else anything; with ``a_cycle_before`` a cycle before
    the beat."""

    def __init__(self, port: Any, source: StreamSource, rng: random.Random, *, a_cycle_before: bool) -> None:
        self._port, self._source, self._rng = port, source, rng
        self._a_cycle_before = a_cycle_before
        #: The steps of the beats that are queued and have been taken.
        self._steps: list[int] = []
        self._driven: int | None = None
        self._asked = False
        source.gate = self._waits
        port.value = 0

    def offer(self, packet: StagePacket) -> None:
        self._steps += [packet.step] * len(packet.beats)

    def after_input(self, moved: bool) -> None:
        """The source has seen a clock edge."""
        if moved and not self._asked:
            # No beat is on offer, and none waits for its step.
            self._drive(None)
        self._asked = False

    def forget(self) -> None:
        self._steps.clear()
        self._driven = None

    def _waits(self) -> bool:
        """Whether the beat at the head of the queue waits for its step."""
        self._asked = True
        step = self._steps[len(self._source.taken)]
        if self._driven == step:
            return False
        self._drive(step)
        return self._a_cycle_before

    def _drive(self, step: int | None) -> None:
        self._port.value = self._rng.getrandbits(len(self._port)) if step is None else step
        self._driven = step
