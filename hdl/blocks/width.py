"""Streams of beats from one number of lanes to another; both are powers of two."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .beat_slice import BeatSlice
from .beats import Beat

__all__ = ["Narrow", "Widen", "connect_width"]


def _members(word_bits: int, lanes_in: int, lanes_out: int) -> dict[str, wiring.Member]:
    """The ports of both adapters."""
    return {
        "input": In(stream.Signature(Beat(word_bits, lanes_in))),
        "output": Out(stream.Signature(Beat(word_bits, lanes_out))),
    }


class Widen(wiring.Component):
    """Gathers beats of ``lanes_in`` words into beats of ``lanes_out``.

    Throughput: one narrow beat per cycle. Latency: a wide beat is offered in the cycle after its last part or the last
    beat of the packet. An empty last beat ends the packet with the words gathered until then, or with an empty beat.
    """

    def __init__(self, word_bits: int, lanes_in: int, lanes_out: int) -> None:
        self.word_bits = word_bits
        self.lanes_in = lanes_in
        self.parts = lanes_out // lanes_in
        super().__init__(_members(word_bits, lanes_in, lanes_out))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = Signal(range(self.parts))
        beat, wide = self.input.payload, self.output.payload
        complete = Signal()
        m.d.comb += [
            complete.eq(beat.last | (part == self.parts - 1)),
            self.input.ready.eq(~self.output.valid | self.output.ready),
        ]
        with m.If(self.input.ready):
            m.d.sync += self.output.valid.eq(self.input.valid & complete)
        with m.If(self.input.valid & self.input.ready):
            m.d.sync += [part.eq(Mux(complete, 0, part + 1)), wide.last.eq(beat.last)]
            for number in range(self.parts):
                lanes = slice(number * self.lanes_in, (number + 1) * self.lanes_in)
                with m.If(part == number):
                    m.d.sync += Cat(wide.data[lane] for lane in range(lanes.start, lanes.stop)).eq(beat.data)
                    m.d.sync += wide.keep[lanes].eq(beat.keep)
                with m.Elif(part == 0):
                    m.d.sync += wide.keep[lanes].eq(0)
        return m


class Narrow(wiring.Component):
    """Cuts beats of ``lanes_in`` words into beats of ``lanes_out``.

    Throughput: one narrow beat per cycle. Latency: none. Parts without words are left out, and an empty last beat
    becomes one empty last beat.
    """

    def __init__(self, word_bits: int, lanes_in: int, lanes_out: int) -> None:
        self.word_bits = word_bits
        self.lanes_out = lanes_out
        self.parts = lanes_in // lanes_out
        super().__init__(_members(word_bits, lanes_in, lanes_out))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = Signal(range(self.parts))
        wide, beat = self.input.payload, self.output.payload
        #: No word comes after the present part.
        final = Signal(init=1)
        with m.Switch(part):
            for number in range(self.parts - 1):
                with m.Case(number):
                    m.d.comb += final.eq(~wide.keep[(number + 1) * self.lanes_out])
        m.d.comb += [
            self.output.valid.eq(self.input.valid),
            self.input.ready.eq(self.output.ready & final),
            beat.last.eq(wide.last & final),
        ]
        with m.Switch(part):
            for number in range(self.parts):
                lanes = slice(number * self.lanes_out, (number + 1) * self.lanes_out)
                with m.Case(number):
                    m.d.comb += beat.keep.eq(wide.keep[lanes])
                    m.d.comb += beat.data.eq(Cat(wide.data[lane] for lane in range(lanes.start, lanes.stop)))
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += part.eq(Mux(final, 0, part + 1))
        return m


def connect_width(
    m: Module,
    name: str,
    word_bits: int,
    source: stream.Interface,
    sink: stream.Interface,
    *,
    pipelined: bool = False,
) -> None:
    """Connects two streams of beats of the same words, through an adapter where their lanes differ.

    ``pipelined`` takes care that ``sink`` gets valid and what decides of its beats from registers: of a :class:`Widen`, or
    of a :class:`.BeatSlice`.
    """
    lanes_in, lanes_out = len(source.payload.keep), len(sink.payload.keep)
    if lanes_in != lanes_out:
        kind = Widen if lanes_in < lanes_out else Narrow
        m.submodules[name] = adapter = kind(word_bits, lanes_in, lanes_out)
        wiring.connect(m, source, adapter.input)
        source = adapter.output
    if pipelined and lanes_in >= lanes_out:
        m.submodules[f"{name}_slice"] = buffer = BeatSlice(source.payload.shape())
        wiring.connect(m, source, buffer.input)
        source = buffer.output
    wiring.connect(m, source, sink)
