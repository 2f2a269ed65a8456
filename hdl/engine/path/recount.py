"""Streams whose beats are counted in other words."""

from amaranth.hdl import Module
from amaranth.lib import stream

from cdma.hdl.blocks.beats import Beat

from .codec_switch import pass_beat

__all__ = ["counted_in"]


def counted_in(m: Module, name: str, source: stream.Interface, word_bits: int) -> stream.Interface:
    """The same stream in beats of words of so many bits: of raw data at a port, which are whole bytes."""
    payload = source.payload
    if payload.shape().word_bits == word_bits:
        return source
    beat = Beat(word_bits, len(payload.data.as_value()) // word_bits)
    counted = stream.Signature(beat).create(path=(name,))
    pass_beat(m, payload, counted.payload)
    m.d.comb += [counted.valid.eq(source.valid), source.ready.eq(counted.ready)]
    return counted
