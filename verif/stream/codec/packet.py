"""Packets for the bench: what goes in, beat by beat, and what must come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.beats import packed_beats
from cdma.sim.codec.codec_model import model_of
from cdma.sim.codec.model import compress_words, decode_packet, encode_packet
from cdma.sim.codec.packing import packing_cycles
from cdma.sim.codec.results import CODE, PADDING, TRUNCATED, PacketReport
from cdma.sim.codec.unpacking import unpacking_cycles
from cdma.sim.codec.words import Words
from cdma.verif.simulator.monitors.rules import Beat
from cdma.verif.stream.packet import Packet

from .codec_bench import Limits, bench_of
from .design import REPORT

__all__ = [
    "CodecPacket",
    "beats_of",
    "compress_packet",
    "decompress_packet",
    "malformed_packet",
    "window_loads",
]

#: The error code of a report for a malformed beat.
MALFORMED = 4


@dataclass(frozen=True)
class CodecPacket(Packet):
    """One packet of stimulus and what the golden model makes of it.

    The compressor has no length. Of a packet with malformed beats only the rules and the error of its report are laid down.
    """

    report: PacketReport
    #: Clock cycles that the contract allows from first beat in to last beat out, without the constant.
    cost: int

    def fields(self, words_out: int) -> dict[str, int]:
        report = self.report
        if self.expected is None:
            return {"words out": words_out, "error": report.error}
        return dict(
            zip(REPORT, (report.words_in, report.words_out, report.literals, report.error), strict=True)
        )


def beats_of(words: Words, bits: int, config: CodecConfig) -> list[Beat]:
    """Words, or stream words, of so many bits, packed into beats."""
    return [Beat(*beat) for beat in packed_beats(words, bits, config.data_bits // bits)]


def window_loads(words: Words, config: CodecConfig) -> tuple[np.ndarray, np.ndarray]:
    """Raw words, in stream words, and stream words of every window of a packet."""
    form = config.format
    windows = -(-len(words) // form.window)
    stored = np.zeros(windows * form.window, np.intp)
    stored[: len(words)] = model_of(form).stream_words_of_each(words, form)
    raw = np.full(windows, form.window)
    raw[-1] = len(words) - (windows - 1) * form.window
    stream = form.header_words + stored.reshape(windows, form.window).sum(axis=1)
    return raw * form.parts, stream + -stream % form.align_words


def _cost(words: Words, config: CodecConfig, header_parts: int, limits: Limits | None = None) -> int:
    """The cycles of the contract, where a header comes in ``header_parts``; without ``limits``, the sum over windows."""
    limits = limits or Limits(constant=0, latency=0)
    raw, stream = window_loads(words, config)
    full = stream >= raw + config.format.header_words
    raw[-1] = max(raw[-1], limits.least_window * config.format.parts)
    load = np.maximum(raw, stream)
    goes_on = full & np.concatenate([[True], full[:-1]])
    if limits.whole_beats:
        load += np.where((stream > raw) & ~goes_on, -stream % config.units, 0)
    more = max(0, header_parts - 1) * len(raw) + limits.each_window * int((~goes_on).sum())
    return -(-int(load.sum()) // config.units) + more


def _packing_cost(words: Words, config: CodecConfig) -> int:
    """The cycles of a compressor that fills one beat per cycle."""
    return packing_cycles(model_of(config.format).stream_words_of_each(words, config.format), config)


def compress_packet(words: Words, config: CodecConfig) -> CodecPacket:
    """Raw words for the compressor."""
    result = encode_packet(words, config.format)
    return CodecPacket(
        beats_of(words, config.format.word_bits, config),
        None,
        beats_of(result.words, config.format.stream_bits, config),
        len(words),
        result.report,
        _cost(words, config, config.header_beats) if config.work_conserving else _packing_cost(words, config),
    )


def decompress_packet(words: Words, config: CodecConfig) -> CodecPacket:
    """The stream of ``words`` for the decompressor."""
    if config.work_conserving:
        cost = _cost(words, config, config.header_reads, bench_of(config).limits(config, "decompressor"))
    else:
        cost = unpacking_cycles(model_of(config.format).stream_words_of_each(words, config.format), config)
    return corrupt_packet(compress_words(words, config.format), len(words), config, cost)


def corrupt_packet(stream: Words, length: int, config: CodecConfig, cost: int = 0) -> CodecPacket:
    """Any stream at all, with any length asked for."""
    result = decode_packet(stream, length, config.format, config.lanes)
    delivered = beats_of(result.words, config.format.word_bits, config)
    if result.report.error in (TRUNCATED, CODE, PADDING) and len(result.words):
        # The packet was cut short after whole beats: an empty beat closes it.
        delivered = [*(Beat(beat.data, beat.keep) for beat in delivered), Beat(0, 0, True)]
    report, given = result.report, beats_of(stream, config.format.stream_bits, config)
    return CodecPacket(given, length, delivered, report.words_in, report, cost)


def malformed_packet(beats: Sequence[Beat], length: int | None) -> CodecPacket:
    """Beats of which at least one breaks the rules of packing."""
    return CodecPacket(beats, length, None, 0, PacketReport(0, 0, 0, MALFORMED), 0)
