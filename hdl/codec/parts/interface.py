"""The ports of codecs and of their blocks."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.spec.codec import CodecConfig

from .streams import Report

__all__ = ["codec_members", "connect_table", "has_one_entry", "queue_members", "table_members"]


def table_members(config: CodecConfig) -> dict[str, wiring.Member]:
    """The port ``values`` of blocks that compare with the frequent values, if these are known at run time only."""
    if not config.runtime_values:
        return {}
    return {"values": In(data.ArrayLayout(config.format.entry_bits, config.table_size))}


def connect_table(
    m: Module, config: CodecConfig, source: wiring.PureInterface, sink: wiring.PureInterface
) -> None:
    """Connects the ports of :func:`table_members` of a block and of a block inside it."""
    if config.runtime_values:
        m.d.comb += sink.values.eq(source.values)


def has_one_entry(config: CodecConfig) -> bool:
    """Whether a decompressor has the port ``one_entry``: with a table at run time that has other entries, too."""
    return config.runtime_values and config.table_size > 1


def codec_members(config: CodecConfig, *, length: bool) -> dict[str, wiring.Member]:
    """The ports of a compressor, or, with ``length``, of a decompressor.

    While ``one_entry`` is high, of the table only entry 0 counts, and the codes of the others are invalid. It may change
    only while no packet is inside.
    """
    raw, packed = Beat(config.format.word_bits, config.lanes), Beat(config.format.stream_bits, config.units)
    return {
        "input": In(stream.Signature(packed if length else raw)),
        **({"length": In(stream.Signature(32))} if length else {}),
        "output": Out(stream.Signature(raw if length else packed)),
        "report": Out(stream.Signature(Report)),
        **table_members(config),
        **({"one_entry": In(1)} if length and has_one_entry(config) else {}),
    }


def queue_members(config: CodecConfig) -> dict[str, wiring.Member]:
    """The ports of a queue of finished beats.

    ``rows``
        Up to two beats to push.
    ``push``
        Number of ``rows`` to push, as a thermometer.
    ``fire``
        Pushes them; only while ``available`` is high, or a cycle after if the queue says that.
    ``last``
        Says which row ends its packet. All others are full.
    ``count``
        Number of stream words in that row, less one.
    ``available``
        Is high while the queue can take the rows that ``push`` says.
    ``output``
        The beats, in order.
    """
    bits, units = config.format.stream_bits, config.units
    return {
        "push": In(2),
        "fire": In(1),
        "rows": In(data.ArrayLayout(data.ArrayLayout(bits, units), 2)),
        "last": In(2),
        "count": In(range(units)),
        "available": Out(1),
        "output": Out(stream.Signature(Beat(bits, units))),
    }
