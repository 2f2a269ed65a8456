"""Packets of numbers or of integers: what goes in, beat by beat, and what the golden model makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cdma.hdl.spec.stage import StageConfig
from cdma.sim.codec.beats import packed_beats
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.verif.simulator.monitors.rules import Beat
from cdma.verif.stream.packet import Packet

from .design import REPORT

__all__ = ["StagePacket", "dequantise_packet", "kept_words", "quantise_packet", "unkept"]


@dataclass(frozen=True)
class StagePacket(Packet):
    """One packet of stimulus and what must come of it.

    ``step``
        The exponent of the step as the port has it.
    ``reported``, ``first``
        How many numbers are out of range, and the index of the first; both 0 for a dequantiser, which reports nothing.
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
    """A packet of one beat with another ``keep``, of which no word is to be kept: an empty beat, and nothing reported."""
    (beat,) = packet.beats
    return StagePacket([Beat(beat.data, keep, True)], None, [Beat(0, 0, True)], 0, packet.step)
