"""Lets each packet pass through an error-bounded stage or around it. Lets each packet pass through the codec or around
it. Streams whose beats are counted in other words.
"""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.codec.lossy import Dequantiser, OutOfRange, Quantiser
from cdma.hdl.codec.parts.interface import Report
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.records import STEP_BITS
from cdma.hdl.spec.stage import Quantisation

from .tails import Tails, cut_word, join_words, split_bytes


class LossySwitch(wiring.Component):
    """Passes each packet through a quantiser, or around it; or, the other way, through a dequantiser.

    Raw data have beats as wide as the device port, so the stage takes or gives a whole beat of numbers per cycle. On the
    other side are beats of the codec. Each way has an adapter of its own between its two widths, where they differ: no beat
    is gathered and cut again.

    Throughput: a beat of raw data per cycle, if the codec's are wide enough for what becomes of it. The next packet waits
    until the one before has left: that costs a cycle around the stage, and up to five through it. Latency: that of the
    stage and of the adapters.

    ``words``: The bits of a stream word.
    ``lanes``, ``codec_lanes``: Stream words of a beat of raw data, and of one of the codec.
    ``quantises``: Makes integers of numbers, with a ``report``; otherwise numbers of integers.

    ``step``: One for each packet: the exponent of the step as a number stores it, or 0 for the way around.
    ``report``: One for each packet that passes through the quantiser.
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
                **optional(quantises, report=Out(stream.Signature(OutOfRange()))),
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


class Route(data.StructLayout):
    """The way of a packet. ``raw``: around the codec. ``zeros``: with a table of zeros instead of ``values``. ``words``: of
    the raw packet. ``tail``, where it has so many bits: the bytes that are meant of the last one, 0 for all."""

    def __init__(self, tail_bits: int = 0) -> None:
        super().__init__({"raw": 1, "zeros": 1, "words": 32, "tail": tail_bits})


def pass_beat(m: Module, source: data.View, sink: data.View) -> None:
    """Passes a beat on, to one of as many bits: of numbers, of words, of stream words, or of bytes.

    What is larger is there whole or not at all: a number or a word of raw data, a byte of the stream.
    """
    if len(source.keep) == len(sink.keep):
        m.d.comb += sink.eq(source)
        return
    if len(source.keep) > len(sink.keep):
        # Of what is there whole, the first part is as good as any.
        keep = source.keep[:: len(source.keep) // len(sink.keep)]
    else:
        keep = Cat(word.replicate(len(sink.keep) // len(source.keep)) for word in source.keep)
    m.d.comb += [
        sink.data.as_value().eq(source.data.as_value()),
        sink.keep.eq(keep),
        sink.last.eq(source.last),
    ]


#: Bits of a beat whose way one flip-flop selects on an FPGA.
_SELECTED = 128


class CodecSwitch(wiring.Component):
    """Passes each packet through ``codec``, or around it. Whichever way they take, packets are of stream words on the side
    of raw data, and on the other of what memories move whole: stream words as well or, where these have 4 bits, bytes. A
    zero fills the last byte of an odd number of words of raw data, and is left out of raw data on the way back.

    With ``tail_bits`` packets are of bytes on both sides, and those of raw data have any number of them. Zeros must fill
    the last word of those for a compressor, and what the tail leaves out of it is left out behind a decompressor.

    A packet passes around the codec only while no packet is inside, and only then the table changes between zeros and
    ``values``. No more than ``packets`` packets may have an entry of ``routes`` and not have left. Throughput: a beat per
    cycle. A packet of a few beats takes up to three cycles more, and so does one that takes another way than the one
    before it.

    ``codec``: A component with the streams of a compressor or of a decompressor, and, if it has one, a table at run
        time.
    ``routes``: One entry for every packet.
    ``values``: The table.
    ``report``: One for every packet that passes through the codec.
    ``starved``: High when the codec could take a beat, but none is valid.
    ``refused``: High when a beat is valid but not taken, although the output does not wait.
    ``blocked``: High when the output waits.
    """

    def __init__(
        self, codec: wiring.Component, config: CodecConfig, packets: int, *, tail_bits: int = 0
    ) -> None:
        self.codec = codec
        self.config = config
        self.packets = packets
        self.tail_bits = tail_bits
        passed = 8 if tail_bits else config.format.stream_bits
        words = stream.Signature(Beat(passed, config.data_bits // passed))
        moved = 8 if tail_bits else config.format.moved_bits
        whole = stream.Signature(Beat(moved, config.data_bits // moved))
        #: Only a decompressor has to be told the length of a packet.
        self.compresses = "length" not in codec.signature.members
        super().__init__(
            {
                "routes": In(stream.Signature(Route(tail_bits))),
                "values": In(data.ArrayLayout(config.format.entry_bits, config.table_size)),
                "input": In(words if self.compresses else whole),
                "output": Out(whole if self.compresses else words),
                "report": Out(stream.Signature(Report)),
                "starved": Out(1),
                "refused": Out(1),
                "blocked": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.codec = codec = self.codec
        route = self.routes.payload
        source, sink = self.input, self.output

        inside = Signal(range(self.packets + 1))
        inside_next = Signal.like(inside)
        vacant = Signal(init=1)
        zeros = Signal()
        leave = Signal()
        #: The way of the packet in hand: known before its first beat.
        around = Signal()
        #: Pulses: the packet in hand goes around the codec from now on; no packet is in hand any more.
        begins_around = Signal()
        ends = Signal()
        through = Signal()
        #: The route at the input is still that of the packet in hand.
        fresh = Signal()
        #: It was the next packet's in the cycle before, and that takes the same way.
        follows = Signal()
        pop = Signal()
        length_done = self._give_length(m, through & fresh, pop)
        m.d.comb += [pop.eq(fresh & (around | length_done)), self.routes.ready.eq(pop)]
        m.d.sync += follows.eq(
            self.routes.valid & Mux(route.raw, around, through & (zeros == route.zeros)) & ~fresh
        )
        with m.If(pop):
            m.d.sync += fresh.eq(0)
        chooses = self.routes.valid & ~around & ~through
        with m.If(chooses):
            with m.If(route.raw):
                m.d.comb += begins_around.eq(vacant)
                m.d.sync += [around.eq(vacant), fresh.eq(vacant)]
            with m.Elif(zeros == route.zeros):
                m.d.sync += [through.eq(1), fresh.eq(1)]
            with m.Elif(vacant):
                m.d.sync += zeros.eq(route.zeros)
        if self.config.runtime_values:
            self._give_table(m, zeros)
        if "one_entry" in codec.signature.members:
            m.d.comb += codec.one_entry.eq(zeros)

        # A packet has entered when its last beat and, where the codec takes it, its length have been taken.
        entered = Signal()
        beats_done = Signal()
        last_in = Signal()
        pass_beat(m, source.payload, codec.input.payload)
        m.d.comb += [
            codec.input.valid.eq(source.valid & through & ~beats_done),
            last_in.eq(source.valid & source.ready & source.payload.last),
            entered.eq((last_in | beats_done) & (~fresh | pop)),
        ]
        with m.If(around):
            m.d.comb += source.ready.eq(sink.ready)
        with m.Elif(through):
            m.d.comb += source.ready.eq(codec.input.ready & ~beats_done)
        m.d.sync += beats_done.eq((last_in | beats_done) & ~entered)
        with m.If(entered):
            with m.If(follows & ~fresh):
                m.d.sync += fresh.eq(1)
            with m.Else():
                m.d.comb += ends.eq(1)
                m.d.sync += [around.eq(0), through.eq(0)]

        odd = self._odd(m, fresh, pop)
        self._leave(m, around, self._inner(m, begins_around, ends) if self.config.pipelined else ~around, odd)
        # In a pipelined engine what leaves is counted a cycle later: the way may then change a cycle later.
        domain = Pace(m, self.config.pipelined).d
        domain += leave.eq(codec.output.valid & codec.output.ready & codec.output.payload.last)
        m.d.comb += inside_next.eq(inside + (pop & through) - leave)
        m.d.sync += [inside.eq(inside_next), vacant.eq(inside_next == 0)]
        wiring.connect(m, codec.report, wiring.flipped(self.report))

        m.d.comb += [
            self.blocked.eq(sink.valid & ~sink.ready),
            self.starved.eq((self.routes.valid | around | through) & ~source.valid & ~self.blocked),
            self.refused.eq(source.valid & ~source.ready & ~self.blocked),
        ]
        return m

    def _give_table(self, m: Module, zeros: Signal) -> None:
        """The codec's table. It changes at least a cycle before a packet comes in, so it may come from a register."""
        table = self.codec.values
        domain = Pace(m, self.config.pipelined).d
        domain += table.eq(Mux(zeros, 0, Value.cast(self.values)))

    def _give_length(self, m: Module, wanted: Value, pop: Signal) -> Value | int:
        """Gives the codec the length at ``routes`` while it is ``wanted``, if it takes one; high from the cycle after it
        has it until ``pop``."""
        codec = self.codec
        if self.compresses:
            return 1
        length_done = Signal()
        m.d.comb += [
            codec.length.payload.eq(self.routes.payload.words),
            codec.length.valid.eq(wanted & ~length_done),
        ]
        m.d.sync += length_done.eq((length_done | (codec.length.valid & codec.length.ready)) & ~pop)
        return length_done

    def _odd(self, m: Module, fresh: Signal, pop: Signal) -> Value:
        """Whether the packet in hand has an odd number of words, where these are less than what the input has."""
        if len(self.input.payload.keep) >= len(self.output.payload.keep):
            return C(0)
        odd = Signal(reset_less=True)
        now = self.routes.payload.words[0]
        with m.If(pop):
            m.d.sync += odd.eq(now)
        return Mux(fresh, now, odd)

    def _cut(self, m: Module, coded: data.View) -> None:
        """Passes beats of the decompressor on, and of the last word what the tail of its packet leaves."""
        length, output = self.codec.length, self.codec.output
        m.submodules.tails = tails = Tails(self.tail_bits, self.packets)
        m.d.comb += [
            tails.tail.eq(self.routes.payload.tail),
            tails.offered.eq(length.valid),
            tails.begins.eq(length.valid & length.ready),
            tails.ends.eq(output.valid & output.ready & output.payload.last),
        ]
        cut_word(m, output.payload, coded, tails.kept)

    def _inner(self, m: Module, begins_around: Value, ends: Value) -> Signal:
        """The select of the codec's way, with a flip-flop for every ``_SELECTED`` bits of a beat: a select of more bits is
        slow on an FPGA. Each flip-flop depends on itself, so that synthesis does not merge them."""
        parts = -(-len(Value.cast(self.output.payload)) // _SELECTED)
        inner = Signal(parts, init=-1)
        m.d.sync += inner.eq((inner | ends.replicate(parts)) & ~begins_around.replicate(parts))
        return inner

    def _leave(self, m: Module, around: Signal, inner: Value, odd: Value) -> None:
        """Multiplexes the output: beats of the codec while ``inner`` is high, and of the input while ``around`` is high.

        ``inner`` has one bit, or one for every ``_SELECTED`` bits. A packet around the codec may have an ``odd`` number of
        words.
        """
        codec, source, sink = self.codec, self.input, self.output
        coded, raw = (Signal.like(sink.payload, name=name) for name in ("coded", "raw"))
        if self.tail_bits and not self.compresses:
            self._cut(m, coded)
        else:
            pass_beat(m, codec.output.payload, coded)
        if self.compresses:
            join_words(m, source.payload, raw)
        else:
            split_bytes(m, source.payload, raw, odd)
        beat, ways = Value.cast(sink.payload), (Value.cast(coded), Value.cast(raw))
        size = _SELECTED if len(inner) > 1 else len(beat)
        for part, selected in enumerate(inner):
            bits = slice(part * size, (part + 1) * size)
            chosen = Mux(selected, *(way[bits] for way in ways))
            m.d.comb += beat[bits].eq(chosen)
        with m.If(around):
            m.d.comb += sink.valid.eq(source.valid)
        with m.Else():
            m.d.comb += [
                sink.valid.eq(codec.output.valid),
                codec.output.ready.eq(sink.ready),
            ]


def counted_in(m: Module, name: str, source: stream.Interface, word_bits: int) -> stream.Interface:
    """The same stream in beats of words of so many bits: of raw data at a port, which are whole bytes."""
    payload = source.payload
    if payload.shape().word_bits == word_bits:
        return source
    beat = Beat(word_bits, len(payload.data.as_value()) // word_bits)
    counted = stream.Signature(beat).create(path=(name,))
    pass_beat(m, payload, counted.payload)
    m.d.comb += [counted.valid.eq(source.valid), source.ready.eq(counted.ready)]
    return counted
