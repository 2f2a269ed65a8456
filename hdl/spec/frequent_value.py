"""The codec of zeros and frequent values, described."""

from __future__ import annotations

from cdma.base.errors import ParameterError

from .codecs import DEFAULT, Codec, Shape
from .format import Format

__all__ = ["CODEC"]

#: The most stream words of a beat.
_MOST_UNITS = 64
#: The fewest beats of a window of a pipelined codec: the cycles that its hardware takes from one header to the next.
_PIPELINE_BEATS = 4


def _check(shape: Shape) -> None:
    form = shape.format
    if shape.units < form.align_words:
        raise ParameterError(
            f"lanes is {shape.lanes}, a beat of {shape.units * form.stream_bits / 8:g} bytes, with windows padded to "
            "more; a beat must be at least as long as what windows are padded to"
        )
    if shape.units > _MOST_UNITS:
        raise ParameterError(
            f"lanes is {shape.lanes} with a field in words of {form.word_bits} bits; a beat has at most {_MOST_UNITS} "
            "bytes of such words"
        )
    if shape.pipelined:
        _check_pipelined(shape)
    if shape.runtime_values and not form.table_size(at_run_time=True):
        raise ParameterError("runtime_values is true; with one code bit and zero the format has no table")
    if shape.lanes > shape.format.window:
        raise ParameterError(
            f"lanes is {shape.lanes}; it must not exceed the window of {shape.format.window} words, "
            "because a beat never spans two windows"
        )
    if shape.pipelined and shape.beats < _PIPELINE_BEATS:
        raise ParameterError(
            f"lanes is {shape.lanes} with a window of {shape.format.window} words; a pipelined codec needs windows of "
            f"at least {_PIPELINE_BEATS} beats, because it takes so many cycles from one header to the next"
        )


def _check_pipelined(shape: Shape) -> None:
    form = shape.format
    if form.parts > 1 and not form.zero:
        raise ParameterError(
            "zero is false in a format with a field; pipelined codecs are built for such formats with zero only"
        )
    if form.align_words > 1 and form.header_words // shape.header_reads + form.align_words > shape.units:
        raise ParameterError(
            f"lanes is {shape.lanes}, a beat of {shape.units * form.stream_bits / 8:g} bytes; in a pipelined codec a beat "
            "must be as long as a header and what windows are padded to"
        )


CODEC = Codec(
    name=DEFAULT,
    summary="zeros, or a few frequent values, cost a code in a header and nothing else",
    format=Format,
    runtime_table=True,
    pipelined=True,
    small_queue=True,
    check=_check,
    compressor="cdma.hdl.codec.compressor:Compressor",
    decompressor="cdma.hdl.codec.decompressor:Decompressor",
    model="cdma.sim.codec.frequent_value:MODEL",
    bench="cdma.verif.stream.codec.frequent_value:BENCH",
)
