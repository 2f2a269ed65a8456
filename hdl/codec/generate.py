"""The two codecs as designs of their own, and their Verilog."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module
from amaranth.lib import wiring

from cdma.hdl.blocks.clocks import ClockGates
from cdma.hdl.blocks.registers import slice_after, slice_before
from cdma.hdl.codec.parts.interface import PURPOSES, GatedCodec, Report
from cdma.hdl.spec.codec import BLOCKS, CodecConfig, codec_of
from cdma.hdl.spec.format import StreamFormat
from cdma.hdl.spec.options import has_slices
from cdma.hdl.spec.settings import check_choice
from cdma.hdl.verilog.emit import Verilog, emit, wished
from cdma.hdl.verilog.names import kept_words
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, CLOCK_GATE, SCAN_ENABLE, Port, Shell, axis_ports

from .parts.interface import codec_members
from .pipelined.compressor import PipelinedCompressor
from .pipelined.decompressor import PipelinedDecompressor
from .plain.compressor import PlainCompressor
from .plain.decompressor import PlainDecompressor


class Compressor(wiring.Component):
    """Compresses packets of words to the stream of ``docs/format.md``.

    ``input``: Raw packets.
    ``output``: Compressed packets, in the same order.
    ``report``: One report per packet. It is valid as soon as the last beat of the packet is counted, which is before
        the last output beat. A report that is not accepted stops the next packets, but never the data of its own
        packet.
    ``values``: Table of frequent values, if it is set at run time. It must be constant while packets are in flight.

    Throughput: work-conserving. With a source that is always valid and a sink that is always ready, the cycles from a
    packet's first beat accepted to its last output beat are at most the sum over its windows of
    ``max(words in, words out) / lanes``, plus ``window / lanes + 4``. Parts of a header beyond one beat cost a cycle each.
    A packet that follows another without a pause costs at most one more cycle. In a format with a field, the words out are
    bytes, each a part of a word.

    Latency: the first output beat of a window comes ``window / lanes`` cycles after its first input beat, for up to eight
    lanes with a window of 32. More lanes have more levels to pass.

    With two levels a group leaves when all of it has arrived. A memory of a group's beats keeps it, so the first output
    beat of a whole group comes so many cycles later, and its last one, too; a group may cost one more cycle.

    A malformed beat is reported as :attr:`Error.BEAT`. The data of its packet are then undefined, and the next packets are
    not affected.

    A pipelined compressor needs up to 7 cycles more, and up to 10 more until the first output beat;
    ``docs/architecture.md`` has the reasons. Up to 16 packets may be in flight or wait for their reports to be accepted.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(codec_members(config, length=False))

    def elaborate(self, platform: object) -> Elaboratable:
        kind = PipelinedCompressor if self.config.pipelined else PlainCompressor
        return kind(self.config, self)


class Decompressor(wiring.Component):
    """Decompresses packets of the stream of ``docs/format.md``.

    ``input``: Compressed packets.
    ``length``: Number of words of each packet.
    ``output``: Raw packets, in the same order.
    ``report``: One report per packet. A report that is not accepted stops the next packets.
    ``values``: Table of frequent values, if it is set at run time.
    ``one_entry``: Port with such a table of several entries: only entry 0 is valid, and the codes of the others are
        invalid. It may change only while no packet is inside.

    Throughput: work-conserving. With a source that is always valid and a sink that is always ready, the cycles from a
    packet's first beat accepted to its last output beat are at most the sum over its windows of
    ``max(words in, words out) / lanes``, plus 8. A header longer than a beat is read in equal parts, each of which but one
    costs a cycle. A packet that follows another without a pause costs at most one more cycle. In a format with a field, the
    words in are bytes, each a part of a word.

    Latency: the first output beat of a window comes 2 cycles after its first input beat, and one more for each part of a
    header beyond one beat.

    With less than two queued beats it stores one beat, and words of the beat at the input reach the output within the cycle.
    The latency is then a cycle less, and a window may cost one more cycle: ``cdma.sim.codec.unpacking`` counts them.

    With two levels a cycle reads the mask of each group. Windows of the last mask past the packet's end are an invalid code
    of the packet's last beat.

    Corrupt packets end. The first beat whose codes are invalid, or whose header, literals or padding are missing, or whose
    padding is not zero, is replaced by an empty last beat, and the rest of the input packet is discarded. Words left over
    after a whole packet are discarded, too. The report of the packet has the error, and the next packets are not affected. A
    length of 0 is reported as :attr:`Error.TRAILING`.

    A pipelined decompressor needs more cycles; see :class:`~cdma.hdl.codec.pipelined.decompressor.PipelinedDecompressor`.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(codec_members(config, length=True))

    def elaborate(self, platform: object) -> Elaboratable:
        kind = PipelinedDecompressor if self.config.pipelined else PlainDecompressor
        return kind(self.config, self)


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

    ``block``: The compressor or decompressor of ``config``. One with a ``length`` stream gets the port ``s_length``.

    A word is kept if all of its bytes are. A beat that keeps only a part of a word, or a word above one that it does not
    keep, reaches the block with no word kept, which the block reports as a malformed beat. So the number of kept words and
    each single one agree.

    Register slices stand between the ports and the block: the ports of a stream with a slice come from flip-flops or go,
    through the gates of ``tkeep`` at most, into flip-flops.
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
        beats = slice_before(m, "input_slice", core.input, when=sliced)
        m.d.comb += [
            beats.payload.data.eq(self.port("s_axis_tdata")),
            beats.payload.keep.eq(kept_words(m, self.port("s_axis_tkeep"), self.keep_in)),
            beats.payload.last.eq(self.port("s_axis_tlast")),
        ]
        self.accept(m, "s_axis", beats, registered=sliced)
        if "length" in core.signature.members:
            length = slice_before(m, "length_slice", core.length, when=sliced)
            m.d.comb += length.payload.eq(self.port("s_length_tdata"))
            self.accept(m, "s_length", length, registered=sliced)

    def _connect_outputs(self, m: Module, core: wiring.Component) -> None:
        sliced = has_slices(self.config.register_slices, "out")
        beats = slice_after(m, "output_slice", core.output, when=sliced)
        report = slice_after(m, "report_slice", core.report, when=sliced)
        m.d.comb += [
            self.port("m_axis_tdata").eq(beats.payload.data),
            self.port("m_axis_tkeep").eq(Cat(word.replicate(self.keep_out) for word in beats.payload.keep)),
            self.port("m_axis_tlast").eq(beats.payload.last),
            self.port("m_report_tdata").eq(report.payload),
        ]
        self.offer(m, "m_axis", beats, registered=sliced)
        self.offer(m, "m_report", report, registered=sliced)


def codec_shell(kind: str, config: CodecConfig) -> CodecShell:
    """The compressor or the decompressor of ``config`` with its AXI-Stream ports."""
    check_choice("kind", kind, BLOCKS)
    block = codec_of(config.format).load(kind)
    return CodecShell(block(config), config)


def codec_verilog(kind: str, config: CodecConfig, **wishes: Any) -> str:
    """The text of :func:`codec_design`."""
    return codec_design(kind, config, **wishes).text


def codec_design(kind: str, config: CodecConfig, **wishes: Any) -> Verilog:
    """The Verilog of a ``compressor`` or ``decompressor``, called ``cdma_KIND`` by default, and its memories; ``wishes`` are
    those of :func:`emit`."""
    named, title = wished(f"cdma_{kind}", wishes), f"streaming {kind} with AXI-Stream ports"
    shell = codec_shell(kind, config)
    return emit(shell, **named, purposes=PURPOSES, title=title, parameters=config.describe())
