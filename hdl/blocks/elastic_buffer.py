"""A stream register for FPGAs: two registers that are filled in turn."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ElasticBuffer"]


class ElasticBuffer(wiring.Component):
    """Holds up to two transfers. Ready and valid come from flip-flops, and the payload from a multiplexer after them.

    Throughput: one transfer per cycle. Latency: one cycle. Valid is low in reset; ready is low too, and in the cycle
    after it.

    In a :class:`.SkidBuffer`, ``output.ready`` reaches all flip-flops of the payload, and the payload comes from them. Here
    it reaches a few: each register takes whatever comes while it is empty, and one flip-flop says which of both is offered.
    A wide payload is cut into parts with flip-flops of their own, which all do the same: so no wire of these crosses an
    FPGA.

    ``part_bits``
        Most bits of a part.
    """

    def __init__(self, shape: ShapeLike, *, part_bits: int = 128) -> None:
        self.part_bits = part_bits
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, sink = Value.cast(self.input.payload), Value.cast(self.output.payload)
        for low in range(0, max(1, len(source)), self.part_bits):
            part = slice(low, low + self.part_bits)
            name = f"_{low}" if low else ""
            ready, valid = (Signal(name=f"{which}{name}") for which in ("ready", "valid"))
            self._add_part(m, name, ready, valid, source[part], sink[part])
            if not low:
                m.d.comb += [self.input.ready.eq(ready), self.output.valid.eq(valid)]
        return m

    def _add_part(
        self, m: Module, name: str, ready: Signal, valid: Signal, source: Value, sink: Value
    ) -> None:
        """Adds the registers of some bits. Every part depends on its own flip-flops, or synthesis would make one of all."""
        full = Signal(2, name=f"full{name}")
        full_next = Signal(2, name=f"full_next{name}")
        into = Signal(name=f"into{name}")
        offered = Signal(name=f"offered{name}")
        put = Signal(name=f"put{name}")
        taken = Signal(name=f"taken{name}")
        kept = [Signal(len(source), name=f"kept_{number}{name}", reset_less=True) for number in range(2)]
        m.d.comb += [put.eq(self.input.valid & ready), taken.eq(valid & self.output.ready)]
        for number, register in enumerate(kept):
            goes, comes = taken & (offered == number), put & (into == number)
            m.d.comb += full_next[number].eq((full[number] & ~goes) | comes)
            with m.If(~full[number]):
                m.d.sync += register.eq(source)
        m.d.sync += [
            full.eq(full_next),
            into.eq(into ^ put),
            offered.eq(offered ^ taken),
            ready.eq(~full_next.all()),
            valid.eq(full_next.any()),
        ]
        m.d.comb += sink.eq(Mux(offered, kept[1], kept[0]))
