"""Compares what came of a packet with what the golden model makes of it, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.verif.monitors.rules import Beat, RuleError

from .traffic import Packet

__all__ = ["PacketCheck"]


class PacketCheck:
    """Compares packets whose delivered words have ``word_bits`` bits."""

    def __init__(self, word_bits: int) -> None:
        self._word_bits = word_bits
        self._masks: dict[int, int] = {}

    def masked(self, beat: Beat) -> int:
        """The data of a beat, with 0 in each byte that it does not keep."""
        mask = self._masks.get(beat.keep)
        if mask is None:
            mask = 0
            for index in range(beat.keep.bit_length()):
                if beat.keep >> index & 1:
                    mask |= 0xFF << (8 * index)
            self._masks[beat.keep] = mask
        return beat.data & mask

    def __call__(self, packet: Packet, beats: Sequence[Beat], report: int) -> int:
        """Raises :class:`.RuleError` at the first difference; returns the number of comparisons."""
        fields = (report & 0xFFFFFFFF, report >> 32 & 0xFFFFFFFF, report >> 64 & 0xFFFFFFFF, report >> 96)
        words_out = sum(beat.keep.bit_count() for beat in beats) // (self._word_bits // 8)
        want = packet.report
        checks = len(beats) + 4
        if packet.expected is None:
            if fields[3] != want.error:
                raise RuleError(f"the report's error is {fields[3]}, not {want.error}")
            if fields[1] != words_out:
                raise RuleError(f"the report says {fields[1]} words out, {words_out} came")
            return checks
        for index, (beat, expected) in enumerate(zip(beats, packet.expected, strict=False)):
            if (beat.keep, beat.last) != (expected.keep, expected.last):
                raise RuleError(
                    f"beat {index} has keep {beat.keep:#x} and last {int(beat.last)}, "
                    f"not keep {expected.keep:#x} and last {int(expected.last)}"
                )
            if self.masked(beat) != expected.data:
                wrong = self.masked(beat) ^ expected.data
                bits = self._word_bits
                lane = ((wrong & -wrong).bit_length() - 1) // bits
                got, right = (
                    value >> (lane * bits) & ((1 << bits) - 1) for value in (beat.data, expected.data)
                )
                raise RuleError(f"beat {index}, lane {lane} is {got:#x}, not {right:#x}")
        if len(beats) != len(packet.expected):
            raise RuleError(f"{len(beats)} beats came out, not {len(packet.expected)}")
        expected_fields = (want.words_in, want.words_out, want.literals, want.error)
        if fields != expected_fields:
            names = ("words in", "words out", "literals", "error")
            raise RuleError(
                "the report has "
                + ", ".join(f"{name} {value}" for name, value in zip(names, fields, strict=True))
                + "; it should have "
                + ", ".join(f"{name} {value}" for name, value in zip(names, expected_fields, strict=True))
            )
        return checks
