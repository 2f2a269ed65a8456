"""Splits the compressed packet of a descriptor into one packet for each stripe."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.skid_buffer import slice_before
from cdma.hdl.spec.codec import CodecConfig

from .beat_store import BeatStore
from .cutter import Cutter
from .header_walk import BeatEnds, HeaderWalk
from .window_lengths import WindowLengths

__all__ = ["Piece", "Splitter"]

#: Beats that have arrived when one of them is no longer held, besides those that arrive while its lengths are found.
_WAY = 8


class Piece(data.StructLayout):
    """A piece of a packet, that is, a stripe.

    ``words``
        Number of its raw words, at least one; a whole number of windows in every piece but the final one.
    ``raw``
        Says that the packet is not compressed, the same for all pieces of a packet.
    ``final``
        Ends the packet.
    """

    def __init__(self, stripe_words: int) -> None:
        super().__init__({"words": range(stripe_words + 1), "raw": 1, "final": 1})


class Splitter(wiring.Component):
    """Cuts packets at window boundaries.

    ``pieces``
        The pieces of the packets, in order. A piece is completed without the next one.
    ``input``
        Packets, whose words come without holes; the last beat may be empty.
    ``output``
        One packet for each piece, from lane 0 on. A piece other than the final one ends after its windows, which are found
        from their headers, or, in a raw packet, after its words. The final one gets all that is left, words too many
        among them. If a packet ends early, a piece gets what there is of it. Where that is no word, the piece is a
        single empty beat.

    Throughput: one beat of ``output`` per cycle, so a piece of ``n`` stream words takes ``n / units`` cycles, rounded up,
    however many windows a beat has. Latency: 7 cycles from the first beat of a packet in to the first beat out; with a
    header of several words a cycle more, and one for each further beat that a header may reach into. A beat leaves the
    splitter only when the next one has arrived, or it is the last of its packet. No ``ready`` of an input follows that of
    the output within a cycle.
    """

    def __init__(self, config: CodecConfig, stripe_words: int) -> None:
        self.config = config
        self.stripe_words = stripe_words
        beat = stream.Signature(Beat(config.format.stream_bits, config.units))
        super().__init__(
            {
                "pieces": In(stream.Signature(Piece(stripe_words))),
                "input": In(beat),
                "output": Out(beat),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, beat = self.config, self.input.payload
        m.submodules.lengths = lengths = WindowLengths(config)
        m.submodules.walk = walk = HeaderWalk(config)
        depth = 1 << (lengths.latency + _WAY - 1).bit_length()
        m.submodules.store = words = BeatStore(config.format.stream_bits, config.units, depth)
        # As many beats as have words inside, at most.
        m.submodules.ends = ends = Fifo(BeatEnds(config), depth, reserved=True)
        m.submodules.cutter = cutter = Cutter(config, -(-self.stripe_words // config.lanes))
        arrives = Signal()
        m.d.comb += [
            arrives.eq(self.input.valid & ~words.full),
            self.input.ready.eq(words.input.ready),
            words.input.valid.eq(self.input.valid & ~lengths.merges),
            words.input.payload.eq(beat.data),
            lengths.input.valid.eq(arrives),
            lengths.input.payload.eq(beat),
            words.read.eq(cutter.read),
            words.below.eq(cutter.below),
            words.take.eq(cutter.take),
            cutter.words.eq(words.words),
        ]
        wiring.connect(m, lengths.output, walk.input)
        wiring.connect(m, walk.output, ends.input)
        wiring.connect(m, ends.output, cutter.ends)
        wiring.connect(m, cutter.output, wiring.flipped(self.output))

        pieces = slice_before(m, "pieces_slice", cutter.pieces)
        count = Signal.like(self.pieces.payload.words)
        m.d.comb += [
            pieces.valid.eq(self.pieces.valid),
            self.pieces.ready.eq(pieces.ready),
            count.eq(
                Mux(self.pieces.payload.raw, self._parts(config.lanes), self._parts(config.format.window))
            ),
            pieces.payload.count.eq(count),
            pieces.payload.raw.eq(self.pieces.payload.raw),
            pieces.payload.final.eq(self.pieces.payload.final),
        ]
        return m

    def _parts(self, size: int) -> Value:
        """How many parts of that size the words of the piece fill, the last perhaps in part; a power of two."""
        bits = size.bit_length() - 1
        words = self.pieces.payload.words
        return (words >> bits) + words[:bits].any()
