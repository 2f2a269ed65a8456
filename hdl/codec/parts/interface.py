"""The ports of codecs and of their blocks."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.spec.codec import CodecConfig

from .streams import Report

__all__ = ["codec_members", "queue_members", "table_members"]


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


def queue_members(config: CodecConfig) -> dict[str, wiring.Member]:
    """The ports of a queue of beats.

    ``push``
        How many of ``rows`` are to go in, as a thermometer; while there is ``room`` for them they do with ``fire``.
    ``last``, ``count``
        Which row ends its packet, and of that one the number of words less one. All others are full.
    """
    fmt, lanes = config.format, config.lanes
    return {
        "push": In(2),
        "fire": In(1),
        "rows": In(data.ArrayLayout(data.ArrayLayout(fmt.word_bits, lanes), 2)),
        "last": In(2),
        "count": In(range(lanes)),
        "room": Out(1),
        "output": Out(stream.Signature(Beat(fmt.word_bits, lanes))),
    }
