"""The ports of codecs and of their blocks."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .params import CodecConfig
from .streams import Beat, Report

__all__ = ["codec_members", "table_members"]


def table_members(config: CodecConfig) -> dict[str, wiring.Member]:
    """The port ``values`` of what compares with the table of frequent values, if that is known at run time only."""
    if not config.runtime_values:
        return {}
    return {"values": In(data.ArrayLayout(config.format.word_bits, config.table_size))}


def codec_members(config: CodecConfig, *, length: bool) -> dict[str, wiring.Member]:
    """The ports of a compressor, or, with ``length``, of a decompressor."""
    beat = Beat(config.format.word_bits, config.lanes)
    return {
        "input": In(stream.Signature(beat)),
        **({"length": In(stream.Signature(32))} if length else {}),
        "output": Out(stream.Signature(beat)),
        "report": Out(stream.Signature(Report)),
        **table_members(config),
    }
