"""A register between a shifter of bytes and the codec: bytes have farther to go to their lanes than words."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring

from cdma.hdl.blocks.elastic_buffer import ElasticBuffer
from cdma.hdl.blocks.stream_register import StreamRegister

__all__ = ["register_bytes"]

#: Bits of a beat that one flip-flop selects, where it has no time to reach more.
_SELECTED = 32


def register_bytes(m: Module, name: str, source: stream.Interface, *, late: bool) -> stream.Interface:
    """Gives the stream behind the register. ``late``: what takes it depends on its data, as a decompressor does, so no
    ``ready`` passes there."""
    beat = source.payload.shape()
    kind = ElasticBuffer(beat, part_bits=_SELECTED) if late else StreamRegister(beat)
    m.submodules[name] = kind
    wiring.connect(m, source, kind.input)
    return kind.output
