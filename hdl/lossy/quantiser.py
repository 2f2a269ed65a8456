"""Numbers to integers, within a bound on the error."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.spec.quantisation import Quantisation

from .range_report import OutOfRange, RangeReport
from .rounding import Rounding
from .scaling import Scaled, Scaling

__all__ = ["Quantiser"]


class Quantiser(wiring.Component):
    """Makes an integer of each number of a packet.

    Throughput: one beat per cycle; a packet costs one cycle more. Latency: two cycles. ``ready`` of the input follows that
    of the output within the cycle.

    ``step``
        The exponent of the step as a number stores it: with the bias added. It is as it must be for a beat from the cycle
        before the beat is taken.
    ``input``
        Packets of numbers.
    ``output``
        Beats of as many integers, in the same lanes.
    ``report``
        One for each packet, two cycles after its last beat has left the lanes; the next packet waits for it to be accepted.
    """

    def __init__(self, form: Quantisation, lanes: int) -> None:
        self.form = form
        self.lanes = lanes
        number = form.number_type
        super().__init__(
            {
                "step": In(number.exponent_bits),
                "input": In(stream.Signature(Beat(number.bits, lanes))),
                "output": Out(stream.Signature(Beat(form.bits, lanes))),
                "report": Out(stream.Signature(OutOfRange())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        form, lanes = self.form, self.lanes
        source, sink = self.input, self.output
        m.submodules.range_report = numbers = RangeReport(lanes)
        wiring.connect(m, numbers.report, wiring.flipped(self.report))

        top = Signal(form.number_type.exponent_bits)
        m.d.sync += top.eq(self.step + form.bits - 2)
        scaled = Signal(data.ArrayLayout(Scaled(form), lanes))
        keep = Signal(lanes)
        last = Signal()
        waits = Signal()
        leaves = Signal()
        m.d.comb += [
            leaves.eq(waits & numbers.available & (~sink.valid | sink.ready)),
            source.ready.eq(~waits | leaves),
        ]
        reported = Signal(lanes)
        integers = Signal(data.ArrayLayout(form.bits, lanes))
        for lane in range(lanes):
            m.submodules[f"scaling_{lane}"] = scaling = Scaling(form)
            m.submodules[f"rounding_{lane}"] = rounding = Rounding(form)
            m.d.comb += [
                scaling.word.eq(source.payload.data[lane]),
                scaling.top.eq(top),
                rounding.scaled.eq(scaled[lane]),
                integers[lane].eq(rounding.integer),
                reported[lane].eq(rounding.reported & keep[lane]),
            ]
            with m.If(source.ready):
                m.d.sync += scaled[lane].eq(scaling.scaled)
        with m.If(source.ready):
            m.d.sync += [
                waits.eq(source.valid),
                Cat(keep, last).eq(Cat(source.payload.keep, source.payload.last)),
            ]
        with m.If(leaves):
            m.d.sync += [
                sink.valid.eq(1),
                sink.payload.data.eq(integers),
                sink.payload.keep.eq(keep),
                sink.payload.last.eq(last),
            ]
        with m.Elif(sink.ready):
            m.d.sync += sink.valid.eq(0)
        m.d.comb += [numbers.beat.eq(leaves), numbers.reported.eq(reported), numbers.last.eq(last)]
        return m
