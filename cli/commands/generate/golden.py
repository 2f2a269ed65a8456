"""What the first bench of a block sends, and what the golden model makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from cdma.hdl.deliver.bench.vectors import StreamVectors, Vectors
from cdma.hdl.deliver.designs import Config
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.sim.codec.beats import packed_beats
from cdma.sim.codec.integers import integers_of, words_of
from cdma.sim.codec.model import decode_packet, encode_packet
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.sim.codec.words import Words

from .golden_data import some_numbers, some_table, some_words
from .golden_transfers import transfer_vectors

__all__ = ["golden_vectors"]

Beats = list[Mapping[str, int]]


def golden_vectors(block: str, config: Config) -> Vectors:
    """The vectors of the ``block`` of ``config``; the same ones each time."""
    if isinstance(config, EngineConfig):
        return transfer_vectors(config)
    if isinstance(config, StageConfig):
        return _stage_vectors(block, config)
    return _codec_vectors(block, config)


def _codec_vectors(block: str, config: CodecConfig) -> StreamVectors:
    """A packet of some windows, one of a single word, and one that is dense."""
    rng = np.random.default_rng(1)
    form, levels = config.format, {}
    if config.runtime_values:
        table = some_table(config)
        form = form.with_table(table)
        levels["values"] = sum(value << index * form.entry_bits for index, value in enumerate(table))
    window = form.window
    raws = [
        some_words(rng, form, 3 * window + window // 2 + 1),
        some_words(rng, form, 1),
        some_words(rng, form, window, density=1),
    ]
    what = f"packets of {_listed(raws)} words"
    raw_beats = [_beats(raw, form.word_bits, config.lanes) for raw in raws]
    compressed = [encode_packet(raw, form) for raw in raws]
    stream_beats = [_beats(each.words, form.stream_bits, config.units) for each in compressed]
    if block == "compressor":
        reports = [each.report for each in compressed]
        streams = {"s_axis": _joined(raw_beats), "m_axis": _joined(stream_beats)}
    else:
        reports = [
            decode_packet(each.words, len(raw), form, config.lanes).report
            for each, raw in zip(compressed, raws, strict=True)
        ]
        streams = {"s_axis": _joined(stream_beats), "m_axis": _joined(raw_beats)}
        streams["s_length"] = [{"tdata": len(raw)} for raw in raws]
    fields = ((each.words_in, each.words_out, each.literals, each.error) for each in reports)
    streams["m_report"] = [_word(each) for each in fields]
    return StreamVectors(what, levels, streams)


def _stage_vectors(block: str, config: StageConfig) -> StreamVectors:
    """Two packets in steps of an eighth; of numbers, one is infinite, which is reported."""
    rng = np.random.default_rng(1)
    form, exponent = config.form, -3
    step, kind = form.step(exponent), form.number_type
    numbers = [some_numbers(rng, form, step, count) for count in (5 * config.lanes + 1, 1)]
    numbers[0][1] = ((1 << kind.exponent_bits) - 1) << kind.fraction_bits
    made = [quantise(each, exponent, form) for each in numbers]
    integers = [words_of(each.integers, form.bits) for each in made]
    integer_beats = _joined(_beats(each, form.bits, config.lanes) for each in integers)
    if block == STAGES[0]:
        streams = {
            "s_axis": _joined(_beats(each, kind.bits, config.lanes) for each in numbers),
            "m_axis": integer_beats,
            "m_report": [_word((each.reported, each.first)) for each in made],
        }
    else:
        back = [dequantise(integers_of(each, form.bits), exponent, form) for each in integers]
        streams = {
            "s_axis": integer_beats,
            "m_axis": _joined(_beats(each, kind.bits, config.lanes) for each in back),
        }
    return StreamVectors(f"packets of {_listed(numbers)} numbers", {"step": step}, streams)


def _listed(packets: Sequence[Words]) -> str:
    *most, last = (str(len(packet)) for packet in packets)
    return f"{', '.join(most)} and {last}"


def _word(fields: Sequence[int]) -> Mapping[str, int]:
    """What moves on a stream of fields of 32 bits, but for the last one, which may have fewer."""
    return {"tdata": sum(value << 32 * index for index, value in enumerate(fields))}


def _beats(words: Words, bits: int, lanes: int) -> Beats:
    """What moves on a stream of packed words."""
    return [
        {"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last)}
        for beat in packed_beats(words, bits, lanes)
    ]


def _joined(packets: Iterable[Beats]) -> Beats:
    return list(chain.from_iterable(packets))
