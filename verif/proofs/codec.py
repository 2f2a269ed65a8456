"""Whole codecs: stream rules for any input, lossless, and decompression by the definition of the format.

The definition is a serial decoder of a few lines, which is ghost state: it takes the stream word by word, a header,
then the literals of its window. ``tests/verif/proofs/test_proofs.py`` compares it with the numpy model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.blocks.arithmetic import popcount
from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.codec.plain.compressor import PlainCompressor
from cdma.hdl.codec.plain.decompressor import PlainDecompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

from .bench import Bench, fixed, free, hold, last_cycle, obey
from .proof import REDUCED, Proof, plain_codec
from .word_flow import packed

#: Words of the longest packet that is asked for.
_MOST = 7
#: Cycles after which something must have moved, if nobody outside holds anything up.
_STILL = 6


def _config(*, lanes: int = 2, **format: Any) -> CodecConfig:
    """A small codec: words of 2 bits, windows of 4, zeros compressed."""
    return CodecConfig(Format(**{"word_bits": 2, "window": 4, **format}), lanes=lanes)


@dataclass(eq=False)
class AnyStream(Bench):
    """A compressor or a decompressor with any input but beats with holes: empty or partial beats in the middle of a
    packet, streams that are no code, wrong lengths.

    Each packet in gives one packet out and one report; packets out are packed; a decompressor never delivers more words
    than requested. Something always moves if the source offers and the sink accepts, so packets end.

    Ghost state: ``words`` counts the words of the packet at the output; ``lead`` counts whole packets in less whole
    packets out. ``asked`` is the length of all packets.
    """

    codec: Compressor | Decompressor

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


@dataclass(eq=False)
class Lossless(Bench):
    """A decompressor makes the same packets, word for word, of a compressor's output.

    Input, output and the stream between the two stall at any time; lengths and reports never do. Each packet has
    ``asked`` words, any number. Ghost state: the word ``place`` of one packet, both any, is followed: ``word`` is its
    value, and ``before`` counts the packets that go out before its own.
    """

    config: CodecConfig
    most: int = _MOST
    compressor: Compressor | None = None
    #: More packets than are ever inside.
    packets: int = 8

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
        inside, before = Signal(range(self.packets)), Signal(range(self.packets))
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


#: Words of the longest packet.


@dataclass
class Reader:
    """The serial decoder, and the word of a window that is followed through it.

    ``left``: Words of the packet that no header has covered yet.
    ``header``, ``parts``: The current header, and the number of its words so far.
    ``literals``: Literals of the window still to come.
    ``tracked``, ``ours``: A word is followed; the current window is its own.
    ``known``, ``word``: Its value, once known.
    ``below``, ``before``: Literals before it in its window, and windows before its own at the output.
    """

    left: Value
    header: Value
    parts: Value
    literals: Value
    tracked: Value
    ours: Value
    known: Value
    word: Value
    below: Value
    before: Value
    windows: Value

    @classmethod
    def registers(cls, fmt: Format) -> Reader:
        """Signals of the right sizes."""
        return cls(
            left=Signal(_MOST.bit_length(), name="left"),
            header=Signal(fmt.window * fmt.code_bits, name="header"),
            parts=Signal(range(fmt.header_words + 1), name="parts"),
            literals=Signal(range(fmt.window + 1), name="literals"),
            tracked=Signal(name="tracked"),
            ours=Signal(name="ours"),
            known=Signal(name="known"),
            word=Signal(fmt.word_bits, name="word"),
            below=Signal(range(fmt.window + 1), name="below"),
            before=Signal(range(16), name="before"),
            windows=Signal(range(16), name="windows"),
        )


def step(
    m: Module, fmt: Format, lane: int, state: Reader, word: Value, place: Value, *, follow: Value
) -> tuple[Reader, Value, Value]:
    """The decoder after one word of the stream, whether the packet ends with it, and whether its codes are legal."""
    bits, codes = fmt.word_bits, fmt.code_bits
    is_header = state.literals == 0
    header = Signal.like(Value.cast(state.header), name=f"header_at_{lane}")
    for part in range(fmt.header_words):
        chosen = Mux(state.parts == part, word, Cat(state.header)[part * bits : (part + 1) * bits])
        m.d.comb += header[part * bits : (part + 1) * bits].eq(chosen)
    complete = is_header & (state.parts == fmt.header_words - 1)
    used = Mux(state.left > fmt.window, fmt.window, state.left)
    literal = [header[each * codes : (each + 1) * codes].all() for each in range(fmt.window)]
    legal: Value = Const(1, 1)
    for each in range(fmt.window):
        code = header[each * codes : (each + 1) * codes]
        in_table = (code < len(fmt.values)) | (code == fmt.literal_code)
        legal = legal & Mux(used > each, in_table, code == 0)
    begins = complete & ~state.tracked & follow & (place < used)
    mine = Array(literal)[place]
    code = Array(header[each * codes : (each + 1) * codes] for each in range(fmt.window))[place]
    value = Array([*fmt.values, *[0] * (fmt.literal_code + 1 - len(fmt.values))])[code]
    found = ~is_header & state.ours & ~state.known & (state.below == 0)
    count = sum((Value.cast(each) for each in literal), start=Const(0))
    below = sum((Mux(place > each, literal[each], 0) for each in range(fmt.window)), start=Const(0))
    after = Reader(
        left=Mux(complete, state.left - used, state.left),
        header=header,
        parts=Mux(is_header & ~complete, state.parts + 1, 0),
        literals=Mux(is_header, Mux(complete, count, 0), state.literals - 1),
        tracked=state.tracked | begins,
        ours=Mux(is_header & (state.parts == fmt.header_words - 1), begins, state.ours),
        known=Mux(begins, ~mine, state.known | found),
        word=Mux(begins, value, Mux(found, word, state.word)),
        below=Mux(begins, below, Mux(~is_header & state.ours, state.below - 1, state.below)),
        before=Mux(begins, state.windows, state.before),
        windows=Mux(complete, state.windows + 1, state.windows),
    )
    ends = (after.left == 0) & (after.literals == 0) & (complete | ~is_header)
    return after, ends, ~complete | legal


class Decoding(Bench):
    """Any legal stream into the decompressor, with any one word of one window followed through both decoders.

    All packets have ``asked`` words, any number; the followed word has the number ``place`` in its window.
    """

    def __init__(self, codec: Decompressor) -> None:
        self.codec = codec
        self.format: Format = codec.config.format  # type: ignore[assignment]

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.codec
        fmt, lanes = self.format, dut.config.lanes
        obey(m, dut.input, "input")
        hold(m, dut.output, "output")
        free(m, "report_ready", dut.report.ready)
        asked = fixed(m, "asked", _MOST.bit_length())
        place = fixed(m, "place", range(fmt.window))
        m.d.comb += [
            dut.length.valid.eq(1),
            dut.length.payload.eq(asked),
            Assume((asked != 0) & (asked <= _MOST)),
        ]
        beat = dut.input.payload
        # The decoder may look at a beat before it takes it, so it counts once it is offered.
        comes = dut.input.valid & ~last_cycle(m, dut.input.valid & ~dut.input.ready, "input_waits")
        now = Reader.registers(fmt)
        fresh = Signal(init=1)
        state: Reader = Reader(**{**vars(now), "left": Mux(fresh, asked, now.left)})
        ended: Value = Const(0, 1)
        for lane in range(lanes):
            following, ends, legal = step(
                m, fmt, lane, state, beat.data[lane], place, follow=free(m, f"follow_{lane}")
            )
            kept = beat.keep[lane]
            m.d.comb += Assume(~(comes & kept) | (legal & ~ended))
            state = Reader(
                **{
                    name: _chosen(m, f"{name}_{lane}", kept, value, vars(state)[name])
                    for name, value in vars(following).items()
                }
            )
            ended = ended | (kept & ends)
        m.d.comb += [
            Assume(~comes | (packed(beat.keep) & beat.keep[0])),
            Assume(~comes | beat.last | beat.keep.all()),
            Assume(~comes | (beat.last == ended)),
        ]
        with m.If(comes):
            m.d.sync += [Value.cast(vars(now)[name]).eq(value) for name, value in vars(state).items()]
            m.d.sync += fresh.eq(beat.last)
        shown = Reader(**{name: Mux(comes, value, vars(now)[name]) for name, value in vars(state).items()})
        self._deliver(m, shown, now, asked, place)

    def _deliver(self, m: Module, shown: Reader, now: Reader, asked: Value, place: Value) -> None:
        """Compares what is delivered, and retires its windows."""
        dut, fmt, lanes = self.codec, self.format, self.codec.config.lanes
        out = dut.output.payload
        leaves = dut.output.valid & dut.output.ready
        at, words = Signal(range(fmt.window)), Signal(_MOST.bit_length() + 1)
        delivered = words + popcount(out.keep)
        done = leaves & (out.last | (at == fmt.window - lanes))
        here = shown.tracked & leaves & (shown.before == 0) & (place >= at) & (place < at + lanes)
        came_out = Signal()
        with m.If(leaves):
            m.d.sync += [
                at.eq(Mux(out.last | (at == fmt.window - lanes), 0, at + lanes)),
                words.eq(Mux(out.last, 0, delivered)),
            ]
        with m.If(done):
            m.d.sync += [now.windows.eq(shown.windows - 1), now.before.eq(shown.before - 1)]
        with m.If(here):
            m.d.sync += [now.tracked.eq(0), came_out.eq(came_out | (shown.word == 1))]
        lane = (place - at)[: exact_log2(lanes)]
        m.d.comb += [
            Assert(~here | (shown.known & out.keep.bit_select(lane, 1) & (out.data[lane] == shown.word))),
            Assert(~leaves | ((out.last == (delivered == asked)) & (delivered <= asked))),
            Assert(~leaves | (shown.windows != 0)),
            Assert(~dut.report.valid | (dut.report.payload.error == Error.NONE)),
            Cover(came_out),
            Cover(here & (place == fmt.window - 1)),
        ]


def _chosen(m: Module, name: str, condition: Value, value: Value, otherwise: Value) -> Signal:
    """A named signal for one value or the other, as wide as the register."""
    target = Signal(max(len(Value.cast(otherwise)), 1), name=name)
    m.d.comb += target.eq(Mux(condition, value, otherwise))
    return target


def _decoding(config: str, fmt: Format, lanes: int = 2) -> Proof:
    return Proof(
        name="decompressor",
        config=config,
        claim="of any legal stream, each word that the format's serial decoder finds is delivered in its place",
        blocks=(PlainDecompressor,),
        built_so=plain_codec,
        bench=lambda: Decoding(Decompressor(CodecConfig(fmt, lanes=lanes))),
        prepare=REDUCED,
        quick=False,
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
    _decoding("2 lanes, c = 1", Format(word_bits=2, window=4)),
    _decoding("4 lanes, c = 1", Format(word_bits=2, window=8), lanes=4),
    _decoding("2 lanes, c = 2", Format(word_bits=2, window=4, code_bits=2, values=(0, 1))),
]
