"""AXI-Stream around a compressor or a decompressor."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring

from cdma.hdl.blocks.clock_gate import ClockGates
from cdma.hdl.blocks.skid_buffer import slice_after, slice_before
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.slices import has_slices
from cdma.hdl.spec.stream_format import StreamFormat
from cdma.hdl.verilog.clock_gate import CLOCK_GATE
from cdma.hdl.verilog.kept_words import kept_words
from cdma.hdl.verilog.ports import CLOCK_AND_RESET, SCAN_ENABLE, Port, axis_ports
from cdma.hdl.verilog.shell import Shell

from .parts.gated_codec import GatedCodec
from .parts.streams import Report

__all__ = ["CodecShell", "codec_ports", "keep_width"]


def keep_width(format: StreamFormat) -> int:
    """Bits of ``tkeep`` per word: one per byte, or one for a word that is smaller than a byte."""
    return max(1, format.word_bits // 8)


def _keep_widths(format: StreamFormat, *, length: bool) -> tuple[int, int]:
    """Bits of ``tkeep`` for each word of the input and of the output; compressed words are stream words."""
    raw, packed = keep_width(format), max(1, format.stream_bits // 8)
    return (packed, raw) if length else (raw, packed)


def codec_ports(config: CodecConfig, *, length: bool) -> tuple[Port, ...]:
    """The ports of a compressor, or, with ``length``, of a decompressor."""
    beat = {"data": config.data_bits, "keep": config.lanes * keep_width(config.format), "last": 1}
    table_bits = config.table_size * config.format.entry_bits
    return (
        *CLOCK_AND_RESET,
        *((SCAN_ENABLE,) if config.clock_gates else ()),
        *axis_ports("s_axis", "input", **beat),
        *(axis_ports("s_length", "input", data=32) if length else ()),
        *axis_ports("m_axis", "output", **beat),
        *axis_ports("m_report", "output", data=Report.as_shape().size),
        *([Port("values", "input", table_bits)] if config.runtime_values else ()),
    )


class CodecShell(Shell):
    """AXI-Stream around a compressor or a decompressor.

    ``block``
        The compressor or decompressor of ``config``. One with a ``length`` stream gets the port ``s_length``.

    A word is kept if all of its bytes are. A beat that keeps only a part of a word, or a word above one that it does not
    keep, reaches the block with no word kept, which the block reports as a malformed beat. So of what a beat keeps, the
    block may look at the number or at single words.

    Register slices stand between the ports and the block, so that the ports of a stream with a slice come from
    flip-flops or go, through the gates of ``tkeep`` at most, into flip-flops.
    """

    def __init__(self, block: wiring.Component, config: CodecConfig) -> None:
        self.block = block
        self.config = config
        length = "length" in block.signature.members
        self.keep_in, self.keep_out = _keep_widths(config.format, length=length)
        super().__init__(codec_ports(config, length=length))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        core = self.block
        if self.config.clock_gates:
            core = GatedCodec(core, self.config, ClockGates(CLOCK_GATE, self.port(SCAN_ENABLE.name)))
        m.submodules.core = core
        self._connect_inputs(m, core)
        self._connect_outputs(m, core)
        if self.config.runtime_values:
            m.d.comb += core.values.eq(self.port("values"))
        return m

    def _connect_inputs(self, m: Module, core: wiring.Component) -> None:
        sliced = has_slices(self.config.register_slices, "in")
        beats = slice_before(m, "input_slice", core.input) if sliced else core.input
        m.d.comb += [
            beats.payload.data.eq(self.port("s_axis_tdata")),
            beats.payload.keep.eq(kept_words(m, self.port("s_axis_tkeep"), self.keep_in)),
            beats.payload.last.eq(self.port("s_axis_tlast")),
        ]
        self.accept(m, "s_axis", beats, registered=sliced)
        if "length" in core.signature.members:
            length = slice_before(m, "length_slice", core.length) if sliced else core.length
            m.d.comb += length.payload.eq(self.port("s_length_tdata"))
            self.accept(m, "s_length", length, registered=sliced)

    def _connect_outputs(self, m: Module, core: wiring.Component) -> None:
        sliced = has_slices(self.config.register_slices, "out")
        beats = slice_after(m, "output_slice", core.output) if sliced else core.output
        report = slice_after(m, "report_slice", core.report) if sliced else core.report
        m.d.comb += [
            self.port("m_axis_tdata").eq(beats.payload.data),
            self.port("m_axis_tkeep").eq(Cat(word.replicate(self.keep_out) for word in beats.payload.keep)),
            self.port("m_axis_tlast").eq(beats.payload.last),
            self.port("m_report_tdata").eq(report.payload),
        ]
        self.offer(m, "m_axis", beats, registered=sliced)
        self.offer(m, "m_report", report, registered=sliced)
