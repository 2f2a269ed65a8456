"""A closed clock gate hides no change: all that is behind it would stay as it is with a clock, too.

So a block with gates goes through the states of the same block without, cycle for cycle. The block of a bench has its clock
always. In the place of the gate is a wire: what would open the gate is the clock of the registers behind it, by which these
are found in the netlist. Each becomes a register of the solver's, with a claim of its own.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TypeVar

from amaranth.hdl import Assume, C, ClockDomain, Elaboratable, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring

from cdma.base.yosys import find_yosys, scratch
from cdma.hdl.blocks.clocks import ClockGates
from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.parts.interface import GatedCodec
from cdma.hdl.codec.plain.compressor import PlainCompressor
from cdma.hdl.codec.plain.decompressor import PlainDecompressor
from cdma.hdl.engine.channel.channel import Channel, gated_channel
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.shell import CLOCK_GATE

from .bench import Bench, fixed, free
from .channel import TINY, with_plain_codec
from .design import plain_codec
from .proof import REDUCED, Proof

__all__ = ["PROOFS", "Resting", "RestingChannel"]

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
    """Gates that close after so many cycles, which are fewer than they wait."""

    def __init__(self, settling: int) -> None:
        super().__init__(CLOCK_GATE, C(0))
        self.settling = settling

    def gated(
        self,
        m: Module,
        name: str,
        component: _Component,
        active: Value,
        settling: int,
        *,
        clear: Value | None = None,
        local: bool = True,
    ) -> _Component:
        sooner = min(settling, self.settling)
        return super().gated(m, name, component, active, sooner, clear=clear, local=local)


class _Open(ClockGates):
    """No gates."""

    def stopping(
        self, m: Module, name: str, component: _Component, runs: Value, reset: Value, *, local: bool
    ) -> _Component:
        return ResetInserter(reset)(component)


class _Gated(Bench):
    """What is behind a gate, with a claim for each of its registers.

    ``any_state``
        They begin with anything. Then a run up to the first cycle without a clock is all there is. Otherwise they begin as
        after a reset, and what nobody offers at a stream stays what it was: some registers take it, although none needs it.
    """

    any_state = False

    def __init__(self, settling: int) -> None:
        super().__init__()
        self.domain = ClockDomain("sync")
        self.gates = _Sooner(settling)

    def drive(self, m: Module, part: wiring.Component, still: Container[str] = ()) -> None:
        """Gives anything to the inputs of ``part``, and what never changes to those that must be ``still``."""
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
        self.channel = Channel(TINY, compressing, gates=_Open(CLOCK_GATE, C(0)))

    def describe(self, m: Module) -> None:
        channel, clear = self.channel, Signal()
        m.submodules.dut = gated_channel(m, "dut", channel, channel, self.gates, clear)
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

PROOFS = [
    _gate(Compressor, CodecConfig(), "compressor, the default, in any state", "bmc"),
    _gate(Decompressor, _TINY, "decompressor, 2 lanes, words of 2 bits, window 4", "pdr"),
    _channel_gate("offload, 2 lanes", compressing=True),
    _channel_gate("prefetch, 2 lanes", compressing=False),
]
