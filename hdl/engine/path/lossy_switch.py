"""Lets each packet pass through an error-bounded stage or around it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.lossy.dequantiser import Dequantiser
from cdma.hdl.lossy.quantiser import Quantiser
from cdma.hdl.lossy.range_report import OutOfRange
from cdma.hdl.spec.quantisation import Quantisation
from cdma.hdl.spec.records import STEP_BITS

from .codec_switch import pass_beat

__all__ = ["LossySwitch"]


class LossySwitch(wiring.Component):
    """Passes each packet through a quantiser, or around it; or, the other way, through a dequantiser.

    Raw data have beats as wide as the device port, so the stage takes or gives a whole beat of numbers per cycle. On the
    other side are beats of the codec. Each way has an adapter of its own between its two widths, where they differ: no beat
    is gathered and cut again.

    Throughput: a beat of raw data per cycle, if the codec's are wide enough for what becomes of it. The next packet waits
    until the one before has left: that costs a cycle around the stage, and up to five through it. Latency: that of the
    stage and of the adapters.

    ``words``
        The bits of a stream word.
    ``lanes``, ``codec_lanes``
        Stream words of a beat of raw data, and of one of the codec.
    ``quantises``
        Makes integers of numbers, with a ``report``; otherwise numbers of integers.

    ``step``
        One for each packet: the exponent of the step as a number stores it, or 0 for the way around.
    ``report``
        One for each packet that passes through the quantiser.
    """

    def __init__(
        self, form: Quantisation, words: int, lanes: int, codec_lanes: int, *, quantises: bool
    ) -> None:
        self.form = form
        self.words = words
        self.lanes = lanes
        self.codec_lanes = codec_lanes
        self.quantises = quantises
        numbers, integers = (stream.Signature(Beat(words, count)) for count in (lanes, codec_lanes))
        self._before, self._after = (numbers, integers) if quantises else (integers, numbers)
        super().__init__(
            {
                "step": In(stream.Signature(STEP_BITS)),
                "input": In(self._before),
                "output": Out(self._after),
                **({"report": Out(stream.Signature(OutOfRange()))} if quantises else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, sink = self.input, self.output
        # The way of the packet in hand. The step is there a cycle before the first beat may be taken.
        step = Signal(self.form.number_type.exponent_bits)
        around = Signal()
        settles = Signal()
        through = Signal()
        entered = Signal()
        m.d.comb += self.step.ready.eq(~(around | settles | through))
        with m.If(self.step.ready):
            m.d.sync += [
                around.eq(self.step.valid & (self.step.payload == 0)),
                settles.eq(self.step.valid & (self.step.payload != 0)),
                step.eq(self.step.payload),
            ]
        with m.If(settles):
            m.d.sync += [settles.eq(0), through.eq(1)]
        with m.If(source.valid & source.ready & source.payload.last):
            m.d.sync += entered.eq(1)
        with m.If(sink.valid & sink.ready & sink.payload.last):
            m.d.sync += [around.eq(0), through.eq(0), entered.eq(0)]

        begin, end = self._begin("outside"), self._end("outside")
        connect_width(m, "around_width", self.words, begin, end)
        for way, entry, exit_ in ((around, begin, end), (through, *self._stage(m, step))):
            m.d.comb += [entry.payload.eq(source.payload), entry.valid.eq(source.valid & way & ~entered)]
            with m.If(way):
                m.d.comb += [
                    source.ready.eq(entry.ready & ~entered),
                    sink.valid.eq(exit_.valid),
                    sink.payload.eq(exit_.payload),
                    exit_.ready.eq(sink.ready),
                ]
        return m

    def _begin(self, name: str) -> stream.Interface:
        """Where a way begins."""
        return self._before.create(path=(name, "input"))

    def _end(self, name: str) -> stream.Interface:
        """Where a way ends."""
        return self._after.flip().create(path=(name, "output"))

    def _stage(self, m: Module, step: Signal) -> tuple[stream.Interface, stream.Interface]:
        """The way through the stage: where it begins, and where it ends."""
        form, words, lanes = self.form, self.words, self.lanes
        numbers = lanes * words // form.number_type.bits
        integers = stream.Signature(Beat(words, numbers * form.bits // words))
        begin, end = self._begin("inside"), self._end("inside")
        if self.quantises:
            m.submodules.quantiser = quantiser = Quantiser(form, numbers)
            made = integers.create(path=("integers",))
            m.d.comb += quantiser.step.eq(step)
            _connect(m, begin, quantiser.input)
            _connect(m, quantiser.output, made)
            connect_width(m, "through_width", words, made, end)
            wiring.connect(m, quantiser.report, wiring.flipped(self.report))
        else:
            m.submodules.dequantiser = dequantiser = Dequantiser(form, numbers)
            taken = integers.flip().create(path=("integers",))
            m.d.comb += dequantiser.step.eq(step)
            connect_width(m, "through_width", words, begin, taken)
            _connect(m, taken, dequantiser.input)
            _connect(m, dequantiser.output, end)
        return begin, end


def _connect(m: Module, source: stream.Interface, sink: stream.Interface) -> None:
    """Connects two streams of beats of as many bits, whose words may differ."""
    pass_beat(m, source.payload, sink.payload)
    m.d.comb += [sink.valid.eq(source.valid), source.ready.eq(sink.ready)]
