"""Clock gates hide no change, and a FIFO between two clocks keeps its words, even if one side is reset.

A block with gates goes through the states of the same block without, cycle for cycle. The block of a bench always has
its clock. A wire is in the place of each gate: the condition that opens the gate is the clock of its registers, by
which these are found in the netlist. Each becomes a register of the solver's, with a claim of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import replace
from typing import Any, TypeVar

from amaranth.hdl import (
    Assert,
    Assume,
    C,
    Cat,
    ClockDomain,
    Cover,
    DomainRenamer,
    Elaboratable,
    Module,
    Mux,
    ResetInserter,
    Signal,
    Value,
)
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.base.yosys import find_yosys, scratch
from cdma.hdl.blocks.arithmetic import popcount
from cdma.hdl.blocks.clocks import AsyncFifo, ClockGates, Synchroniser
from cdma.hdl.blocks.queues import LinkEnd, join_ends
from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.parts.interface import GatedCodec
from cdma.hdl.codec.plain.compressor import PlainCompressor
from cdma.hdl.codec.plain.decompressor import PlainDecompressor
from cdma.hdl.engine.channel.channel import Channel, clocked_channel
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.shell import CLOCK_GATE

from .bench import Bench, FreeClocks, fixed, free, last_cycle
from .engine import TINY, with_plain_codec
from .proof import REDUCED, Proof, plain_codec

_Component = TypeVar("_Component", bound=Elaboratable)

_GATE = f"""\
module {CLOCK_GATE}(input clk, input enable, input scan_enable, output gated);
  assign gated = enable;
  always @* cover (!enable);
endmodule
"""

#: What Yosys's ``techmap`` makes of a register behind the gate, which begins with anything if ``ANY`` is 1.
_REGISTER = r"""
module \$dff (CLK, D, Q);
  parameter WIDTH = 1, CLK_POLARITY = 1, _TECHMAP_WIREINIT_Q_ = 0;
  input CLK;
  input [WIDTH-1:0] D;
  output [WIDTH-1:0] Q;
  wire [WIDTH-1:0] _TECHMAP_REMOVEINIT_Q_ = {WIDTH{1'bANY}};
  \$ff #(.WIDTH(WIDTH)) register (.D(D), .Q(Q));
  \$assert held (.A(D == Q), .EN(!CLK));
endmodule
"""

#: Also of those that no output needs; not of those that have the clock itself.
_SCRIPT = """\
read_verilog -formal gate.v
read_rtlil bench.il
hierarchy -check -top top
proc
flatten
memory -nomap
memory_map
dffunmap
setattr -set keep 1 t:$dff
opt_clean
techmap -max_iter 1 -map register.v t:$dff w:clk %co:+$dff[CLK] %d
write_rtlil held.il
"""


class _Sooner(ClockGates):
    """Gates that close after fewer cycles than real ones."""

    def __init__(self, settling: int) -> None:
        super().__init__(CLOCK_GATE, C(0))
        self.settling = settling

    def gated(
        self,
        m: Module,
        name: str,
        component: _Component,
        active: Callable[[], Value],
        settling: int,
        **named: Any,
    ) -> _Component:
        return super().gated(m, name, component, active, min(settling, self.settling), **named)


class _Open(ClockGates):
    """No gates."""

    def stopping(
        self, m: Module, name: str, component: _Component, runs: Value, reset: Value, *, local: bool
    ) -> _Component:
        return ResetInserter(reset)(component)


class _Gated(Bench):
    """A gated block, with a claim for each of its registers.

    ``any_state``: Registers begin with anything, and a run ends with the first cycle without a clock. Otherwise they
        begin as after a reset, and the payload of an idle stream stays: some registers sample it, although none needs
        it.
    """

    any_state = False

    def __init__(self, settling: int) -> None:
        self.domain = ClockDomain("sync")
        self.gates = _Sooner(settling)

    def drive(self, m: Module, part: wiring.Component, still: Container[str] = ()) -> None:
        """Drives anything into the inputs of ``part``, and constants into ``still``."""
        m.d.comb += self.domain.rst.eq(0)
        inputs = {
            "__".join(map(str, path)): Value.cast(value)
            for path, member, value in part.signature.flatten(part)
            if member.flow is wiring.In
        }
        for name, value in inputs.items():
            if name in still:
                m.d.comb += value.eq(fixed(m, f"{name}_still", len(value)))
            elif name.endswith("payload") and not self.any_state:
                offered = free(m, f"{name}_offered", shape=len(value))
                idle = fixed(m, f"{name}_idle", len(value))
                m.d.comb += value.eq(Mux(inputs[name.replace("payload", "valid")], offered, idle))
            else:
                free(m, name, value)

    def rtlil(self) -> str:
        with scratch() as folder:
            for name, text in (
                ("bench.il", super().rtlil()),
                ("gate.v", _GATE),
                ("register.v", _REGISTER.replace("ANY", str(int(self.any_state)))),
            ):
                (folder / name).write_text(text)
            find_yosys().run(_SCRIPT, folder)
            # A claim that fails is told by the place of its register.
            return re.sub(r"\|register\.v:[^\"|]*", "", (folder / "held.il").read_text())


class Resting(_Gated):
    """A codec behind a gate, which closes after ``settling`` cycles already."""

    def __init__(self, codec: Compressor | Decompressor, settling: int, *, any_state: bool) -> None:
        super().__init__(settling)
        self.codec = codec
        self.any_state = any_state

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = GatedCodec(self.codec, self.codec.config, self.gates)
        self.drive(m, dut)


class RestingChannel(_Gated):
    """A channel behind a gate, which closes after ``settling`` cycles already. Windows, table and time stay the same."""

    def __init__(self, settling: int, *, compressing: bool) -> None:
        super().__init__(settling)
        #: The gates of its codec are behind its own, and show nothing here.
        self.channel = Channel(replace(TINY, clock_gates=True), compressing, _Open(CLOCK_GATE, C(0)))

    def describe(self, m: Module) -> None:
        channel, clear = self.channel, Signal()
        m.submodules.dut = clocked_channel(m, "dut", channel, channel, self.gates, clear)
        self.drive(m, channel, {"values", "now", "windows__base", "windows__limit"})
        free(m, "clear", clear)
        # A soft reset stops the channel, and clears it at last.
        m.d.comb += Assume(~clear | channel.stop)


_CLAIM = "no register behind a closed gate would change if it had a clock, nor if the gate closed earlier"
#: The cycles after the last with anything offered or in flight, within which a plain codec comes to rest, and a channel.
_SETTLES, _CHANNEL_SETTLES = 3, 4


def _gate(codec: type[Compressor | Decompressor], config: CodecConfig, named: str, method: str) -> Proof:
    any_state = method == "bmc"
    return Proof(
        name="clock_gates",
        config=named,
        claim=_CLAIM,
        blocks=(PlainCompressor if codec is Compressor else PlainDecompressor, GatedCodec),
        built_so=plain_codec,
        bench=lambda: Resting(codec(config), _SETTLES, any_state=any_state),
        method=method,
        depth=_SETTLES + 1 if any_state else 0,
        prepare=REDUCED,
    )


def _channel_gate(config: str, *, compressing: bool) -> Proof:
    return Proof(
        name="clock_gates",
        config=config,
        claim=_CLAIM,
        blocks=(Channel, GatedCodec),
        built_so=with_plain_codec,
        bench=lambda: RestingChannel(_CHANNEL_SETTLES, compressing=compressing),
        method="bmc",
        # By the 46th cycle a descriptor may have completed, and the gate is closed again.
        depth=52,
        quick=False,
    )


_TINY = CodecConfig(Format(word_bits=2, window=4), lanes=2)


#: Bits of an entry.
_BITS = 2
_WRITES, _READS = "write", "read"


class Passage(wiring.Component):
    """A FIFO with a link, whose sides may be reset.

    ``write_settles``, ``read_settles``: A side has finished its open transfers.
    ``up``, ``clears``: Writer and reader let transfers pass; they clear their indices.
    """

    def __init__(self, depth: int, fifo: type[AsyncFifo] = AsyncFifo) -> None:
        self.fifo = fifo(_BITS, depth, writes=_WRITES, reads=_READS)
        self.ends = [LinkEnd(), LinkEnd()]
        super().__init__(
            {
                "input": In(stream.Signature(_BITS)),
                "output": Out(stream.Signature(_BITS)),
                "settles": In(2),
                "up": Out(2),
                "clears": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fifo = fifo = self.fifo
        for name, end in zip((_WRITES, _READS), self.ends, strict=True):
            m.submodules[f"{name}_end"] = DomainRenamer(name)(end)
        join_ends(m, *self.ends)
        writer, reader = self.ends
        m.d.comb += [
            Cat(end.settled for end in self.ends).eq(self.settles),
            self.up.eq(Cat(end.open for end in self.ends)),
            self.clears.eq(Cat(end.clear for end in self.ends)),
            fifo.write_clear.eq(writer.clear),
            fifo.read_clear.eq(reader.clear),
            fifo.input.valid.eq(self.input.valid & writer.open),
            fifo.input.payload.eq(self.input.payload),
            self.input.ready.eq(fifo.input.ready & writer.open),
            self.output.valid.eq(fifo.output.valid & reader.open),
            self.output.payload.eq(fifo.output.payload),
            fifo.output.ready.eq(self.output.ready & reader.open),
        ]
        return m


class Crossing(Bench):
    """A FIFO and its link on clocks that tick at any time, with a ghost that follows any one entry.

    ``resets``: Each side is reset at any time, and takes any time to settle; or neither ever is.

    Ghost state: ``put`` and ``taken`` count entries since writer and reader last cleared their indices. Of the followed
    entry, ``place`` is its number, ``age`` the edges of the reader since it went in, and ``gone`` is high once it has
    come out.
    """

    def __init__(self, passage: Passage, *, resets: bool) -> None:
        self.passage, self.resets = passage, resets
        self.most = passage.fifo.depth + 1

    def describe(self, m: Module) -> None:
        clocks, dut = FreeClocks(_WRITES, _READS), self.passage
        m.submodules.dut = clocks.built(dut)
        for name in (_WRITES, _READS):
            free(m, f"{name}_ticks", clocks.ticks[name])
            m.d.comb += clocks.resets[name].eq(free(m, f"{name}_resets") if self.resets else 0)
        for number, late in enumerate(clocks.late):
            free(m, f"late_{number}", late)
        for name, signal in (
            ("payload", dut.input.payload),
            ("valid", dut.input.valid),
            ("ready", dut.output.ready),
        ):
            free(m, name, signal)
        m.d.comb += dut.settles.eq(free(m, "settles", shape=2) if self.resets else 3)
        counts, clears = [], []
        for index, port in enumerate((dut.input, dut.output)):
            edge = clocks.ticks[(_WRITES, _READS)[index]]
            counts.append(count := Signal((2 * self.most + 2).bit_length(), name=f"count_{index}"))
            clears.append(clear := dut.clears[index] & edge)
            with m.If(clear):
                m.d.sync += count.eq(0)
            with m.Elif(port.valid & port.ready & edge):
                m.d.sync += count.eq(count + 1)
        self._follow(m, clocks, counts, clears[0])
        for number, seen in enumerate(clocks.inputs):
            before = last_cycle(m, seen, f"input_{number}")
            jumps = last_cycle(m, Cat(clears).any(), f"cleared_{number}")
            m.d.comb += Assert(jumps | (popcount(seen ^ before) <= 1))

    def _follow(self, m: Module, clocks: FreeClocks, counts: list[Signal], cleared: Value) -> None:
        dut, late = self.passage, 5
        entering, leaving = dut.input, dut.output
        put, taken = counts
        inside = (put - taken)[: len(put)]
        follow, entry = free(m, "follow"), fixed(m, "entry", _BITS)
        tracked, gone, again = Signal(), Signal(), Signal()
        place = Signal.like(put)
        age = Signal(range(late + 1))
        ticks = clocks.ticks
        due = tracked & (taken == place)
        with m.If(cleared):
            m.d.sync += [tracked.eq(0), again.eq(gone)]
        with (
            m.Elif(~tracked),
            m.If(follow & entering.valid & entering.ready & ticks[_WRITES] & (entering.payload == entry)),
        ):
            m.d.sync += [tracked.eq(1), gone.eq(0), place.eq(put), age.eq(0)]
        with m.Else():
            with m.If(ticks[_READS] & (age != late)):
                m.d.sync += age.eq(age + 1)
            with m.If(due & leaving.valid & leaving.ready & ticks[_READS]):
                m.d.sync += gone.eq(1)
            with m.If((put - place)[: len(put)] == 2 * self.most):
                m.d.sync += tracked.eq(0)
        m.d.comb += [
            Assert(~(entering.valid & entering.ready) | (inside < self.most)),
            Assert(~leaving.valid | ((inside != 0) & (inside <= self.most))),
            Assert(~(due & leaving.valid) | ((leaving.payload == entry) & ~gone)),
            Cover(gone & (entry == 1)),
            Cover(inside == self.most),
        ]
        if self.resets:
            m.d.comb += Cover(again & due & leaving.valid)
        else:
            m.d.comb += Assert(~(due & ~gone & (age == late)) | leaving.valid)


def _proof(depth: int, *, resets: bool) -> Proof:
    return Proof(
        name="crossing_resets" if resets else "crossing",
        config=f"depth {depth}",
        claim="between two clocks that tick at any time "
        + (
            "and are reset at any time, what comes out has gone in since, once, unchanged and in order"
            if resets
            else "nothing is lost, doubled or out of order, an entry comes out in time, and an index changes bit by bit"
        ),
        blocks=(AsyncFifo, LinkEnd, Synchroniser),
        bench=lambda: Crossing(Passage(depth), resets=resets),
        cover=40,
        prepare=REDUCED,
        quick=False,
    )


PROOFS = [
    _gate(Compressor, CodecConfig(), "compressor, the default, in any state", "bmc"),
    _gate(Decompressor, _TINY, "decompressor, 2 lanes, words of 2 bits, window 4", "pdr"),
    _channel_gate("offload, 2 lanes", compressing=True),
    _channel_gate("prefetch, 2 lanes", compressing=False),
    _proof(2, resets=False),
    _proof(4, resets=False),
    _proof(2, resets=True),
]
