"""The ends of a packet: cut, and filled."""

from __future__ import annotations

from amaranth.hdl import Array, C, Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat


class TailCut(wiring.Component):
    """Passes packets of words, or of bytes of whole words, on as packets of bytes, within the cycle.

    ``tails``: The bytes that are meant of the last word of each packet, 0 for all: of at most ``packets`` that have not
        left. The last beat of a packet waits for it.
    """

    def __init__(self, source: Beat, tail_bits: int, packets: int) -> None:
        self.packets = packets
        lanes = source.word_bits * source.lanes // 8
        super().__init__(
            {
                "tails": In(stream.Signature(tail_bits, always_ready=True)),
                "input": In(stream.Signature(source)),
                "output": Out(stream.Signature(Beat(8, lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.waiting = waiting = Fifo(self.tails.payload.shape(), self.packets, reserved=True)
        wiring.connect(m, wiring.flipped(self.tails), waiting.input)
        tail, last = waiting.output, self.input.payload.last
        known = Signal()
        cut_word(m, self.input.payload, self.output.payload, bytes_kept(tail.payload))
        m.d.comb += [
            # A long packet's tail may come after many of its beats.
            known.eq(tail.valid | ~last),
            self.output.valid.eq(self.input.valid & known),
            self.input.ready.eq(self.output.ready & known),
            tail.ready.eq(self.input.valid & self.output.ready & last),
        ]
        return m


def bytes_kept(tail: Value) -> Value:
    """The bytes of a word of which so many are meant, one bit each; 0 for all."""
    return Cat(C(1, 1), ((tail == 0) | (tail > place) for place in range(1, 1 << len(tail))))


class Tails(wiring.Component):
    """Keeps the tail of each packet from when its length is taken until its last beat is: of at most ``packets``, a power of
    two. In flip-flops, because a packet may leave in the cycle after it begins.

    ``tail``, ``offered``, ``begins``: Of the packet that begins next so many bytes of its last word are meant: 0 for
        all. It is valid while ``offered``, from before the packet ``begins`` on, which is known late in the cycle.
    ``kept``: The bytes that are kept of the last word of the oldest packet, one bit each; from the cycle after it
        begins.
    ``ends``: Its last beat is taken.
    """

    def __init__(self, bits: int, packets: int) -> None:
        self.bits = bits
        self.packets = packets
        super().__init__(
            {"tail": In(bits), "offered": In(1), "begins": In(1), "ends": In(1), "kept": Out(1 << bits)},
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tails = Array(
            Signal(self.bits, name=f"tail_{number}", reset_less=True) for number in range(self.packets)
        )
        newest = Signal(exact_log2(self.packets))
        oldest = Signal.like(newest)
        with m.If(self.offered):
            m.d.sync += tails[newest].eq(self.tail)
        with m.If(self.begins):
            m.d.sync += newest.eq(newest + 1)
        with m.If(self.ends):
            m.d.sync += oldest.eq(oldest + 1)
        tail = Signal(self.bits, name="of_oldest")
        m.d.comb += [
            tail.eq(tails[oldest]),
            self.kept.eq(bytes_kept(tail)),
        ]
        return m


def join_words(m: Module, source: data.View, sink: data.View) -> None:
    """Passes a beat of stream words on as one of what memories move whole: the same, or the bytes of words of 4 bits.

    After an odd number of them, a zero fills the last byte, whatever ``source`` has there.
    """
    if len(source.keep) == len(sink.keep):
        m.d.comb += sink.eq(source)
        return
    pairs = zip(source.data, source.keep, strict=True)
    # The first word of a byte is there if the byte is.
    words = [word & keep.replicate(len(word)) if n % 2 else word for n, (word, keep) in enumerate(pairs)]
    m.d.comb += [
        sink.data.as_value().eq(Cat(words)),
        sink.keep.eq(source.keep[::2]),
        sink.last.eq(source.last),
    ]


def split_bytes(m: Module, source: data.View, sink: data.View, odd: Value) -> None:
    """Passes a beat of what memories move whole on as one of stream words: the same, or the words of 4 bits in bytes.

    Of a packet of an ``odd`` number of them, the second half of the last byte is no word.
    """
    if len(source.keep) == len(sink.keep):
        m.d.comb += sink.eq(source)
        return
    half = source.last & odd
    after = Cat(source.keep[1:], C(0, 1))
    m.d.comb += [
        sink.data.as_value().eq(source.data.as_value()),
        sink.keep.eq(
            Cat(Cat(keep, keep & ~(half & ~more)) for keep, more in zip(source.keep, after, strict=True))
        ),
        sink.last.eq(source.last),
    ]


def cut_word(m: Module, source: data.View, sink: data.View, kept: Value) -> None:
    """Passes a beat of words, or of bytes of whole words, on as one of their bytes: of the word that ends the packet only
    those that are ``kept``."""
    keeps = source.keep[:: len(source.keep) * len(kept) // len(sink.keep)]
    after = Cat(keeps[1:], C(0, 1))
    m.d.comb += [
        sink.data.as_value().eq(source.data.as_value()),
        sink.keep.eq(
            Cat(
                keep.replicate(len(kept)) & (kept | (more | ~source.last).replicate(len(kept)))
                for keep, more in zip(keeps, after, strict=True)
            )
        ),
        sink.last.eq(source.last),
    ]
