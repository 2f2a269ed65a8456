"""AXI-Stream around the blocks: flat ports with the names of the standard, and a clock domain of their own.

``Shell`` is what ``cdma.hdl.verilog.emit`` turns into Verilog; other engines derive from it too.
"""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, ClockDomain, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Member, Out

from .params import CodecConfig, Format
from .streams import Report

__all__ = ["CodecShell", "Shell", "axis_ports", "codec_ports", "keep_width"]


def keep_width(format: Format) -> int:
    """Bits of ``tkeep`` per word: one per byte, or one for a word that is smaller than a byte."""
    return max(1, format.word_bits // 8)


def axis_ports(name: str, flow: wiring.Flow, **fields: int) -> dict[str, Member]:
    """The flat ports of an AXI-Stream called ``name`` whose data moves as ``flow`` says.

    ``fields`` are its payload: the width of ``data``, ``keep``, ``last`` and so on.
    """
    back = In if flow == Out else Out
    payload = {f"{name}_t{field}": flow(width) for field, width in fields.items()}
    return {**payload, f"{name}_tvalid": flow(1), f"{name}_tready": back(1)}


def codec_ports(config: CodecConfig, *, length: bool) -> dict[str, Member]:
    """The ports of a compressor, or, with ``length``, of a decompressor, beside clock and reset."""
    beat = {"data": config.data_bits, "keep": config.lanes * keep_width(config.format), "last": 1}
    ports = axis_ports("s_axis", In, **beat)
    if length:
        ports |= axis_ports("s_length", In, data=32)
    ports |= axis_ports("m_axis", Out, **beat)
    ports |= axis_ports("m_report", Out, data=Report.as_shape().size)
    if config.runtime_values:
        ports["values"] = In(config.table_size * config.format.word_bits)
    return ports


class Shell(wiring.Component):
    """A component with flat ports, a clock ``aclk`` and a synchronous, active-low reset ``aresetn``.

    ``ports``
        The other ports; the Verilog lists them in this order, after clock and reset.
    """

    aclk: Signal
    aresetn: Signal

    def __init__(self, ports: Mapping[str, Member]) -> None:
        members = {"aclk": In(1), "aresetn": In(1), **ports}
        self.port_order = tuple(members)
        super().__init__(members)

    def port(self, name: str) -> Signal:
        """The signal of one port."""
        return getattr(self, name)

    def add_domain(self, m: Module) -> None:
        """Declares the domain ``sync`` from ``aclk`` and ``aresetn``."""
        domain = ClockDomain("sync")
        domain.clk = self.aclk
        m.domains.sync = domain
        m.d.comb += domain.rst.eq(~self.aresetn)

    def accept(self, m: Module, name: str, inner: stream.Interface) -> None:
        """Connects the handshake of the input stream ``name``; during reset it takes nothing."""
        m.d.comb += [
            inner.valid.eq(self.port(f"{name}_tvalid")),
            self.port(f"{name}_tready").eq(inner.ready & self.aresetn),
        ]

    def offer(self, m: Module, name: str, inner: stream.Interface) -> None:
        """Connects the handshake of the output stream ``name``; during reset it offers nothing."""
        m.d.comb += [
            self.port(f"{name}_tvalid").eq(inner.valid & self.aresetn),
            inner.ready.eq(self.port(f"{name}_tready")),
        ]


class CodecShell(Shell):
    """AXI-Stream around a compressor or a decompressor.

    ``block``
        The compressor or decompressor of ``config``. One with a ``length`` stream gets the port ``s_length``.

    A word is kept if all of its bytes are. A beat that keeps only a part of a word reaches the block with no
    word kept, which the block reports as a malformed beat.
    """

    def __init__(self, block: wiring.Component, config: CodecConfig) -> None:
        self.block = block
        self.config = config
        self.keep_width = keep_width(config.format)
        super().__init__(codec_ports(config, length="length" in block.signature.members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        m.submodules.core = core = self.block

        keep = [
            self.port("s_axis_tkeep").word_select(lane, self.keep_width) for lane in range(self.config.lanes)
        ]
        cut = Signal(name="word_cut")
        m.d.comb += [
            cut.eq(Cat(word.any() & ~word.all() for word in keep).any()),
            core.input.payload.data.eq(self.port("s_axis_tdata")),
            core.input.payload.keep.eq(Cat(word.all() & ~cut for word in keep)),
            core.input.payload.last.eq(self.port("s_axis_tlast")),
            self.port("m_axis_tdata").eq(core.output.payload.data),
            self.port("m_axis_tkeep").eq(
                Cat(word.replicate(self.keep_width) for word in core.output.payload.keep)
            ),
            self.port("m_axis_tlast").eq(core.output.payload.last),
            self.port("m_report_tdata").eq(core.report.payload),
        ]
        self.accept(m, "s_axis", core.input)
        self.offer(m, "m_axis", core.output)
        self.offer(m, "m_report", core.report)
        if "length" in core.signature.members:
            m.d.comb += core.length.payload.eq(self.port("s_length_tdata"))
            self.accept(m, "s_length", core.length)
        if self.config.runtime_values:
            m.d.comb += core.values.eq(self.port("values"))
        return m
