"""A closed clock gate hides no change: all that is behind it would stay as it is with a clock, too.

So a block with gates goes through the states of the same block without, cycle for cycle. The block of a bench has its clock
always. In the place of the gate is a wire: what would open the gate is the clock of the registers behind it, by which these
are found in the netlist. Each becomes a register of the solver's, with a claim of its own.
"""

from __future__ import annotations

import re
from typing import TypeVar

from amaranth.hdl import C, ClockDomain, Elaboratable, Module, Mux, Value
from amaranth.lib import stream

from cdma.hdl.blocks.clock_gate import ClockGates
from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.codec.parts.gated_codec import GatedCodec
from cdma.hdl.codec.plain.compressor import PlainCompressor
from cdma.hdl.codec.plain.decompressor import PlainDecompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.clock_gate import CLOCK_GATE
from cdma.synth.yosys import find_yosys, scratch

from .bench import Bench, fixed, free
from .design import plain_codec
from .proof import REDUCED, Proof

__all__ = ["PROOFS", "Resting"]

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


class Resting(Bench):
    """A codec behind a gate, which closes after ``settling`` cycles already, with a claim for each of its registers.

    ``any_state``
        They begin with anything. Then a run up to the first cycle without a clock is all there is. Otherwise they begin as
        after a reset, and what nobody offers at a stream stays what it was: some registers take it, although none needs it.
    """

    def __init__(self, codec: Compressor | Decompressor, settling: int, *, any_state: bool) -> None:
        super().__init__()
        self.domain = ClockDomain("sync")
        self.codec = codec
        self.settling = settling
        self.any_state = any_state

    def describe(self, m: Module) -> None:
        m.d.comb += self.domain.rst.eq(0)
        m.submodules.dut = dut = GatedCodec(self.codec, self.codec.config, _Sooner(self.settling))
        for name in ("input", "length"):
            if name in dut.signature.members:
                self._offer(m, name, getattr(dut, name))
        for name in ("output", "report"):
            free(m, f"{name}_ready", getattr(dut, name).ready)

    def _offer(self, m: Module, name: str, port: stream.Interface) -> None:
        free(m, f"{name}_valid", port.valid)
        payload = Value.cast(port.payload)
        if self.any_state:
            free(m, name, payload)
            return
        offered = free(m, f"{name}_offered", shape=len(payload))
        m.d.comb += payload.eq(Mux(port.valid, offered, fixed(m, f"{name}_idle", len(payload))))

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


#: The cycles after the last in which anything was offered, within which a plain codec comes to rest.
_SETTLES = 3


def _gate(codec: type[Compressor | Decompressor], config: CodecConfig, named: str, method: str) -> Proof:
    any_state = method == "bmc"
    return Proof(
        name="clock_gates",
        config=named,
        claim="no register behind a closed gate would change if it had a clock, nor if the gate closed earlier",
        blocks=(PlainCompressor if codec is Compressor else PlainDecompressor, GatedCodec),
        built_so=plain_codec,
        bench=lambda: Resting(codec(config), _SETTLES, any_state=any_state),
        method=method,
        depth=_SETTLES + 1 if any_state else 0,
        prepare=REDUCED,
    )


_TINY = CodecConfig(Format(word_bits=2, window=4), lanes=2)

PROOFS = [
    _gate(Compressor, CodecConfig(), "compressor, the default, in any state", "bmc"),
    _gate(Decompressor, _TINY, "decompressor, 2 lanes, words of 2 bits, window 4", "pdr"),
]
