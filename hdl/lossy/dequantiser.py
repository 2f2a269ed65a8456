"""The stage on the way back: integers become numbers again."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.registers import Beat
from cdma.hdl.spec.stage import Quantisation

__all__ = ["Dequantiser", "Restoring"]


class Restoring(wiring.Component):
    """Multiplies an integer by the step, exactly. Combinational.

    ``integer``
        In two's complement.
    ``step``
        The exponent of the step as a number stores it.
    ``negative``, ``exponent``, ``fraction``
        Fields of the number; of the fraction the upper ``bits - 1`` bits, the others are 0.
    """

    def __init__(self, form: Quantisation) -> None:
        self.form = form
        exponent_bits = form.number_type.exponent_bits
        super().__init__(
            {
                "integer": In(form.bits),
                "step": In(exponent_bits),
                "negative": Out(1),
                "exponent": Out(exponent_bits),
                "fraction": Out(form.bits - 1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.form.bits
        negative = self.integer[-1]
        magnitude = Signal(bits)
        m.d.comb += magnitude.eq((self.integer ^ negative.replicate(bits)) + negative)
        # Shifted left until the leading one is at the top; the shifts are the bits by which its place is less.
        shifted: Value = magnitude
        shifts: list[Value] = []
        for level in reversed(range(exact_log2(bits))):
            by = 1 << level
            empty = ~shifted[-by:].any()
            shifts.append(empty)
            shifted = Mux(empty, Cat(Value.cast(0).replicate(by), shifted[:-by]), shifted)
        zero = ~shifted[-1]
        place = ~Cat(reversed(shifts))
        m.d.comb += [
            self.negative.eq(negative),
            self.exponent.eq(Mux(zero, 0, self.step + place)),
            self.fraction.eq(shifted[:-1]),
        ]
        return m


class Dequantiser(wiring.Component):
    """Makes a number of each integer of a packet, exactly.

    Throughput: one beat per cycle. Latency: one cycle. ``ready`` of the input follows that of the output within the cycle.

    ``step``
        The exponent of the step as a number stores it: with the bias added. It is as it must be for a beat when the beat is
        taken.
    ``input``
        Packets of integers in two's complement.
    ``output``
        Beats of as many numbers, in the same lanes.
    """

    def __init__(self, form: Quantisation, lanes: int) -> None:
        self.form = form
        self.lanes = lanes
        number = form.number_type
        super().__init__(
            {
                "step": In(number.exponent_bits),
                "input": In(stream.Signature(Beat(form.bits, lanes))),
                "output": Out(stream.Signature(Beat(number.bits, lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number, bits, lanes = self.form.number_type, self.form.bits, self.lanes
        source, sink = self.input, self.output
        # The lower bits of a fraction are 0 and need no register.
        numbers = Signal(data.ArrayLayout(number.exponent_bits + bits, lanes))
        for lane in range(lanes):
            m.submodules[f"restoring_{lane}"] = restoring = Restoring(self.form)
            m.d.comb += [
                restoring.integer.eq(source.payload.data[lane]),
                restoring.step.eq(self.step),
                sink.payload.data[lane].eq(
                    Cat(Value.cast(0).replicate(number.fraction_bits - bits + 1), numbers[lane])
                ),
            ]
            with m.If(source.ready):
                m.d.sync += numbers[lane].eq(Cat(restoring.fraction, restoring.exponent, restoring.negative))
        m.d.comb += source.ready.eq(~sink.valid | sink.ready)
        with m.If(source.ready):
            m.d.sync += [
                sink.valid.eq(source.valid),
                sink.payload.keep.eq(source.payload.keep),
                sink.payload.last.eq(source.payload.last),
            ]
        return m
