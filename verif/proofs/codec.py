"""The codec: both halves keep the rules of streams whatever comes, and what was compressed decompresses to what it was."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import ceil_log2

from cdma.hdl.blocks.arithmetic import popcount
from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.codec.plain.compressor import PlainCompressor
from cdma.hdl.codec.plain.decompressor import PlainDecompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

from .bench import Bench, fixed, free, hold, obey
from .design import plain_codec
from .proof import Proof
from .word_flow import packed

__all__ = ["PROOFS", "AnyStream", "Lossless"]

#: Words of the longest packet that is asked for.
_MOST = 7
#: Cycles after which something must have moved, if nobody outside holds anything up.
_STILL = 6


def _config(*, lanes: int = 2, **format: Any) -> CodecConfig:
    """A small codec: words of 2 bits, windows of 4, zeros compressed."""
    return CodecConfig(Format(**{"word_bits": 2, "window": 4, **format}), lanes=lanes)


class AnyStream(Bench):
    """A compressor or a decompressor that gets anything at all but beats with holes: beats that are empty or partial in the
    middle of a packet, streams that are no code, wrong lengths.

    Each packet that comes in gives one that goes out, and one report; what goes out is packed; a decompressor never delivers
    more words than it was asked for. Something always moves if the source offers and the sink takes, so packets end.

    Ghost state: ``words`` counts what was delivered of the packet at the output; ``lead`` counts the packets that came
    in whole, less those that went out whole. ``asked`` is the length of all packets, and may be any.
    """

    def __init__(self, codec: Compressor | Decompressor) -> None:
        super().__init__()
        self.codec = codec

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.codec
        obey(m, dut.input, "input")
        hold(m, dut.output, "output")
        free(m, "report_ready", dut.report.ready)
        out = dut.output.payload
        enters = dut.input.valid & dut.input.ready
        leaves = dut.output.valid & dut.output.ready
        reported = dut.report.valid & dut.report.ready
        moves, offered = enters | leaves | reported, dut.input.valid & dut.output.ready & dut.report.ready
        if isinstance(dut, Decompressor):
            asked = fixed(m, "asked", 4)
            free(m, "length_valid", dut.length.valid)
            m.d.comb += [dut.length.payload.eq(asked), Assume(asked <= _MOST)]
            was_offered = Signal()
            m.d.sync += was_offered.eq(dut.length.valid & ~dut.length.ready)
            m.d.comb += Assume(~was_offered | dut.length.valid)
            words = Signal(range(2 * _MOST))
            after = Signal.like(words)
            m.d.comb += after.eq(words + popcount(out.keep))
            with m.If(leaves):
                m.d.sync += words.eq(Mux(out.last, 0, after))
            m.d.comb += Assert(~dut.output.valid | (after <= asked))
            m.d.comb += Cover(leaves & out.last & (after == asked) & (asked > 2))
            moves = moves | (dut.length.valid & dut.length.ready)
            offered = offered & dut.length.valid
        lead = Signal(range(-8, 8))
        m.d.sync += lead.eq(lead + (enters & dut.input.payload.last) - (leaves & out.last))
        still = Signal(range(_STILL + 1))
        m.d.sync += still.eq(Mux(offered & ~moves, still + 1, 0))
        m.d.comb += [
            Assume(~dut.input.valid | packed(dut.input.payload.keep)),
            Assert(~dut.output.valid | packed(out.keep)),
            Assert(~dut.output.valid | out.last | out.keep.all()),
            Assert((lead >= -1) & (lead <= 6)),
            Assert(still != _STILL),
            Cover(leaves & out.last & out.keep.all()),
            Cover(reported & (dut.report.payload.error == Error.BEAT)),
        ]


class Lossless(Bench):
    """What a compressor makes of packets, a decompressor makes the same packets of, word for word.

    Input, output and the stream between the two stall at any time; lengths and reports never do. Each packet has ``asked``
    words, which may be any number. Ghost state: the word with number ``place``, which may be any, of one packet, which may
    be any, is followed: ``word`` is what it was, and ``before`` counts the packets that go out before its own.
    """

    def __init__(self, config: CodecConfig, most: int = _MOST, compressor: Compressor | None = None) -> None:
        super().__init__()
        self.config = config
        self.most = most
        self.compressor = compressor

    def describe(self, m: Module) -> None:
        config, lanes = self.config, self.config.lanes
        m.submodules.compressor = compressor = self.compressor or Compressor(config)
        m.submodules.decompressor = decompressor = Decompressor(config)
        obey(m, compressor.input, "input")
        hold(m, decompressor.output, "output")
        stall = free(m, "stall")
        bits = self.most.bit_length()
        asked, place = fixed(m, "asked", bits), fixed(m, "place", bits)
        packets, out = compressor.output, decompressor.input
        m.d.comb += [
            # A stall between the two, which keeps the rules: what was offered stays offered.
            out.payload.eq(packets.payload),
            compressor.report.ready.eq(1),
            decompressor.report.ready.eq(1),
            decompressor.length.valid.eq(1),
            decompressor.length.payload.eq(asked),
            Assume((asked != 0) & (asked <= self.most) & (place < asked)),
        ]
        shown = Signal()
        m.d.sync += shown.eq(out.valid & ~out.ready)
        m.d.comb += [
            out.valid.eq(packets.valid & (~stall | shown)),
            packets.ready.eq(out.ready & (~stall | shown)),
        ]
        self._compare(m, compressor, decompressor, asked, place, lanes)

    def _compare(
        self,
        m: Module,
        compressor: Compressor,
        decompressor: Decompressor,
        asked: Value,
        place: Value,
        lanes: int,
    ) -> None:
        beat, back = compressor.input.payload, decompressor.output.payload
        enters = compressor.input.valid & compressor.input.ready
        leaves = decompressor.output.valid & decompressor.output.ready
        came, gone = Signal(self.most.bit_length() + 1), Signal(self.most.bit_length() + 1)
        here, there = came + popcount(beat.keep), gone + popcount(back.keep)
        with m.If(enters):
            m.d.sync += came.eq(Mux(beat.last, 0, here))
        with m.If(leaves):
            m.d.sync += gone.eq(Mux(back.last, 0, there))
        m.d.comb += [
            Assume(~compressor.input.valid | (packed(beat.keep) & beat.keep[0])),
            Assume(~compressor.input.valid | beat.last | beat.keep.all()),
            Assume(~compressor.input.valid | (here <= asked) & (beat.last == (here == asked))),
        ]
        inside, before = Signal(range(8)), Signal(range(8))
        m.d.sync += inside.eq(inside + (enters & beat.last) - (leaves & back.last))
        follow = free(m, "follow")
        tracked, came_back = Signal(), Signal()
        word = Signal(self.config.format.word_bits)
        lane = ceil_log2(lanes)
        position, position_back = Signal.like(place), Signal.like(place)
        m.d.comb += [position.eq(place - came), position_back.eq(place - gone)]
        goes_in = enters & (place >= came) & (place < here)
        comes_out = tracked & leaves & (before == 0) & (place >= gone) & (place < there)
        with m.If(~tracked & goes_in & follow):
            m.d.sync += [
                tracked.eq(1),
                word.eq(beat.data[position[:lane]]),
                before.eq(inside - (leaves & back.last)),
            ]
        with m.Elif(tracked & leaves):
            m.d.sync += before.eq(before - back.last)
            with m.If(comes_out):
                m.d.sync += [tracked.eq(0), came_back.eq(came_back | (word == 1))]
        m.d.comb += [
            Assert(~comes_out | (back.data[position_back[:lane]] == word)),
            Assert(~(leaves & back.last) | (there == asked)),
            Assert(~(leaves & ~back.last) | (there < asked)),
            Assert(~decompressor.report.valid | (decompressor.report.payload.error == Error.NONE)),
            Cover(came_back),
        ]


def _any_stream(name: str, codec: type[wiring.Component], config: str, **format: Any) -> Proof:
    more = "; never more words than asked for" if codec is Decompressor else ""
    return Proof(
        name=f"{name}_any_stream",
        config=config,
        claim=f"stream rules, a packet out for each packet in, and no deadlock, whatever comes in{more}",
        blocks=(PlainDecompressor if codec is Decompressor else PlainCompressor,),
        built_so=plain_codec,
        bench=lambda: AnyStream(codec(_config(**format))),
    )


PROOFS = [
    _any_stream("compressor", Compressor, "2 lanes, words of 2 bits, window 4"),
    _any_stream("decompressor", Decompressor, "2 lanes, words of 2 bits, window 4"),
    Proof(
        name="lossless",
        config="2 lanes, words of 2 bits, window 4",
        claim="each word that was compressed is delivered again, in its place, and each packet with its length",
        # A codec has one half.
        built_so=plain_codec,
        bench=lambda: Lossless(_config()),
        method="bmc",
        depth=9,
        quick=False,
    ),
]
