"""The decompressor delivers what the stream says, word for word, by the definition of the format.

The definition is a serial decoder of a few lines, which is ghost state: it takes the stream word by word, a header, then the
literals of its window. It is the reference that ``tests/verif/proofs/test_reference.py`` holds against the numpy model.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Cover, Module, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import popcount
from cdma.hdl.codec.generate import Decompressor
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.codec.plain.decompressor import PlainDecompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

from .bench import Bench, fixed, free, hold, last_cycle, obey
from .design import plain_codec
from .proof import REDUCED, Proof
from .word_flow import packed

__all__ = ["PROOFS", "Decoding", "Reader", "step"]

#: Words of the longest packet.
_MOST = 7


@dataclass
class Reader:
    """The serial decoder, and the word of a window that is followed through it.

    ``left``
        Words of the packet that no header has spoken of yet.
    ``header``, ``parts``
        The header that is being read, and how many of its words are there.
    ``literals``
        Literals of the window that are still to come.
    ``tracked``, ``ours``
        A word is followed; the window that is being read is its own.
    ``known``, ``word``
        What it is, and whether that is known yet.
    ``below``
        Literals of its window that come before it, if it is one.
    ``before``
        Windows that go out before its own.
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
    """Gives the decompressor any legal stream, and follows one word of one window, which may be any, through both decoders.

    All packets have ``asked`` words, which may be any number; the word has the number ``place`` in its window.
    """

    def __init__(self, codec: Decompressor) -> None:
        super().__init__()
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
    _decoding("2 lanes, c = 1", Format(word_bits=2, window=4)),
    _decoding("4 lanes, c = 1", Format(word_bits=2, window=8), lanes=4),
    _decoding("2 lanes, c = 2", Format(word_bits=2, window=4, code_bits=2, values=(0, 1))),
]
