"""Lets each packet pass through an error-bounded stage or around it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.width import Narrow, Widen
from cdma.hdl.lossy.dequantiser import Dequantiser
from cdma.hdl.lossy.quantiser import Quantiser
from cdma.hdl.lossy.range_report import OutOfRange
from cdma.hdl.spec.quantisation import Quantisation
from cdma.hdl.spec.records import STEP_BITS

from .codec_switch import pass_beat

__all__ = ["LossySwitch"]


class LossySwitch(wiring.Component):
    """Passes each packet through a quantiser, or around it; or, the other way, through a dequantiser.

    Both streams have beats as wide as the device port: the stage takes or gives a whole beat of numbers per cycle, and its
    integers are gathered into beats as wide, one for two or four of numbers. So the rate is that of the port.

    Throughput: a beat of raw data per cycle. The next packet waits until the one before has left: that costs a cycle around
    the stage, and five through it. Latency: none around; through a quantiser three cycles after the last number of a beat of
    integers, through a dequantiser one. ``ready`` of the input follows that of the output within the cycle.

    ``words``, ``lanes``
        The bits of a stream word, and how many a beat has.
    ``quantises``
        Makes integers of numbers, with a ``report``; otherwise numbers of integers.

    ``step``
        One for each packet: the exponent of the step as a number stores it, or 0 for the way around.
    ``report``
        One for each packet that passes through the quantiser.
    """

    def __init__(self, form: Quantisation, words: int, lanes: int, *, quantises: bool) -> None:
        self.form = form
        self.words = words
        self.lanes = lanes
        self.quantises = quantises
        beat = Beat(words, lanes)
        super().__init__(
            {
                "step": In(stream.Signature(STEP_BITS)),
                "input": In(stream.Signature(beat)),
                "output": Out(stream.Signature(beat)),
                **({"report": Out(stream.Signature(OutOfRange()))} if quantises else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, sink = self.input, self.output
        step = Signal(self.form.number_type.exponent_bits)
        entry, exit_ = self._stage(m, step)

        # The way of the packet in hand. The step is there a cycle before the first beat may be taken.
        around = Signal()
        settles = Signal()
        through = Signal()
        entered = Signal()
        leaves = Signal()
        m.d.comb += [
            self.step.ready.eq(~(around | settles | through)),
            leaves.eq(sink.valid & sink.ready & sink.payload.last),
            entry.valid.eq(source.valid & through & ~entered),
            exit_.ready.eq(sink.ready & through),
        ]
        with m.If(self.step.ready):
            m.d.sync += [
                around.eq(self.step.valid & (self.step.payload == 0)),
                settles.eq(self.step.valid & (self.step.payload != 0)),
                step.eq(self.step.payload),
            ]
        with m.If(settles):
            m.d.sync += [settles.eq(0), through.eq(1)]
        with m.If(entry.valid & entry.ready & source.payload.last):
            m.d.sync += entered.eq(1)
        with m.If(leaves):
            m.d.sync += [around.eq(0), through.eq(0), entered.eq(0)]
        with m.If(around):
            m.d.comb += [
                sink.valid.eq(source.valid),
                sink.payload.eq(source.payload),
                source.ready.eq(sink.ready),
            ]
        with m.Else():
            m.d.comb += [
                sink.valid.eq(exit_.valid & through),
                sink.payload.eq(exit_.payload),
                source.ready.eq(entry.ready & through & ~entered),
            ]
        return m

    def _stage(self, m: Module, step: Signal) -> tuple[stream.Interface, stream.Interface]:
        """The way through, without its ``valid`` and ``ready``: where it begins, and where it ends."""
        form, words, lanes = self.form, self.words, self.lanes
        numbers = lanes * words // form.number_type.bits
        few = numbers * form.bits // words
        if self.quantises:
            m.submodules.quantiser = quantiser = Quantiser(form, numbers)
            m.submodules.gather = gather = Widen(words, few, lanes)
            m.d.comb += [
                quantiser.step.eq(step),
                gather.input.valid.eq(quantiser.output.valid),
                quantiser.output.ready.eq(gather.input.ready),
            ]
            pass_beat(m, self.input.payload, quantiser.input.payload)
            pass_beat(m, quantiser.output.payload, gather.input.payload)
            wiring.connect(m, quantiser.report, wiring.flipped(self.report))
            return quantiser.input, gather.output
        m.submodules.spread = spread = Narrow(words, lanes, few)
        m.submodules.dequantiser = dequantiser = Dequantiser(form, numbers)
        m.d.comb += [
            dequantiser.step.eq(step),
            dequantiser.input.valid.eq(spread.output.valid),
            spread.output.ready.eq(dequantiser.input.ready),
            spread.input.payload.eq(self.input.payload),
        ]
        pass_beat(m, spread.output.payload, dequantiser.input.payload)
        ended = stream.Signature(Beat(words, lanes)).create(path=("numbers",))
        pass_beat(m, dequantiser.output.payload, ended.payload)
        m.d.comb += [ended.valid.eq(dequantiser.output.valid), dequantiser.output.ready.eq(ended.ready)]
        return spread.input, ended
