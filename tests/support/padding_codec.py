"""Codecs that cost almost nothing to simulate and take the place of the real ones in an engine.

The compressor adds a beat after every window of beats, as dense data have it, and the decompressor removes it; both
report. The engine treats them as it treats the real ones, so its counters can be followed over whole descriptors of
4 GiB.
"""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.registers import Beat
from cdma.hdl.codec.parts.interface import Report
from cdma.hdl.spec import codec
from cdma.hdl.spec.codec import CodecConfig

#: The description of the codec of frequent values with this hardware instead of its own.
CODEC = replace(
    codec.CODEC,
    compressor="tests.support.padding_codec:PaddingCompressor",
    decompressor="tests.support.padding_codec:PaddingDecompressor",
)

#: Beats of raw data to each beat of padding.
WINDOW_BEATS = 32


class _Padding(wiring.Component):
    def __init__(self, config: CodecConfig, **more: wiring.Member) -> None:
        beat = stream.Signature(Beat(config.format.word_bits, config.lanes))
        table = data.ArrayLayout(config.format.word_bits, config.table_size)
        members = {"input": In(beat), "output": Out(beat), "report": Out(stream.Signature(Report))}
        super().__init__({**members, "values": In(table), **more})

    def connect(self, m: Module) -> Signal:
        """Counts beats at both ends and reports once per packet; returns the position of the beat in its window."""
        position = Signal(range(WINDOW_BEATS + 1))
        ends = Signal()
        m.d.comb += [
            self.output.payload.eq(self.input.payload),
            ends.eq(self.output.valid & self.output.ready & self.output.payload.last),
        ]
        with m.If(ends):
            m.d.sync += [self.report.valid.eq(1), position.eq(0)]
        with m.Elif(self.report.ready):
            m.d.sync += self.report.valid.eq(0)
        return position


class PaddingCompressor(_Padding):
    """Adds a beat of ones after every full window of beats that is not the last of its packet."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        position = self.connect(m)
        pad = Signal()
        m.d.comb += [
            pad.eq(position == WINDOW_BEATS),
            self.output.valid.eq(self.input.valid),
            self.input.ready.eq(self.output.ready & ~pad),
        ]
        with m.If(pad):
            m.d.comb += [
                self.output.payload.data.eq(~0),
                self.output.payload.keep.eq(~0),
                self.output.payload.last.eq(0),
            ]
        with m.If(self.output.valid & self.output.ready & ~self.output.payload.last):
            m.d.sync += position.eq(Mux(pad, 0, position + 1))
        return m


class PaddingDecompressor(_Padding):
    """Removes those beats again."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__(config, length=In(stream.Signature(32)))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        position = self.connect(m)
        pad = Signal()
        m.d.comb += [
            self.length.ready.eq(1),
            pad.eq(position == WINDOW_BEATS),
            self.output.valid.eq(self.input.valid & ~pad),
            self.input.ready.eq(self.output.ready | pad),
        ]
        with m.If(self.input.valid & self.input.ready & ~self.output.payload.last):
            m.d.sync += position.eq(Mux(pad, 0, position + 1))
        return m
