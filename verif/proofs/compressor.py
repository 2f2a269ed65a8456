"""The two halves of a compressor, each against its contract, and the cycles that a whole one takes.

The window store turns raw beats into steps: each has the header of its window, if it begins one, and its literals in
the lanes where they belong. The packer turns any steps of that kind into the stream: header words, then literals, in
order. What the store's steps are proven to keep of positions is what the packer's proof assumes.

With two levels the store marks each beat as its whole window is, and a mask says the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Cover, Module, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import popcount
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.codec.generate import Compressor
from cdma.hdl.codec.parts.packer import Packer
from cdma.hdl.codec.plain.compressor import BeatQueue, PlainCompressor
from cdma.hdl.codec.plain.groups import GroupStore
from cdma.hdl.codec.plain.window_store import WindowStore
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.verif.proofs.bench import Bench, free, hold, last_cycle, obey
from cdma.verif.proofs.codec import Lossless
from cdma.verif.proofs.proof import REDUCED, Config, Proof, codec_in, plain_codec
from cdma.verif.proofs.word_flow import Flow, WordFlow, packed


def _positions(m: Module, step: Value, taken: Value, units: int) -> Signal:
    """The words in the output beat that the next step continues: 0 for a new packet, then 1 to ``units``."""
    position = Signal(range(units + 1), name="position")
    with m.If(taken):
        m.d.sync += position.eq(Mux(step.last, 0, (step.total - 1)[: exact_log2(units)] + 1))
    return position


class Packing(WordFlow):
    """Every word of every step, of the header first, comes out in order, in full beats but for a packet's last.

    Steps may be anything that keeps the positions: a packet begins with a header, a step begins where the one before
    ended, and has at most a beat of literals. :class:`.WordFlow` follows any of their words.
    """

    def __init__(self, packer: Packer) -> None:
        self.packer = packer
        self.config = packer.config
        units, header = self.config.units, self.config.format.header_words
        assert header <= units, "parts of a longer header leave before its step is taken"
        super().__init__(lambda: packer, header + units, units, stall=3)
        self.header = header

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.packer
        units, bits = self.config.units, self.config.format.stream_bits
        obey(m, dut.step, "step")
        hold(m, dut.output, "output")
        step, out = dut.step.payload, dut.output.payload
        put, take = Signal(), Signal()
        m.d.comb += [put.eq(dut.step.valid & dut.step.ready), take.eq(dut.output.valid & dut.output.ready)]
        position = _positions(m, step, put, units)
        header = Mux(step.first, self.header, 0)
        count = Signal(range(4 * units))
        m.d.comb += [
            count.eq(step.total - step.start),
            Assume(~dut.step.valid | ((step.start == position) & (step.first | (position != 0)))),
            Assume(~dut.step.valid | ((step.total >= step.start + header) & (count <= header + units))),
        ]
        beat = Signal(Beat(bits, self.header + units), name="words_of_step")
        m.d.comb += beat.last.eq(step.last)
        for number in range(self.header + units):
            lane = (step.start + number)[: exact_log2(units)]
            word: Value = Array(step.words[each] for each in range(units))[lane]
            if number < self.header:
                word = Mux(step.first, step.header[number], word)
            m.d.comb += [beat.keep[number].eq(count > number), beat.data[number].eq(word)]
        inside, ends = Signal(range(8 * units)), Signal(range(8))
        gone = Signal(range(units + 1))
        m.d.comb += gone.eq(Mux(take, popcount(out.keep), 0))
        m.d.sync += [
            inside.eq(inside + Mux(put, count, 0) - gone),
            ends.eq(ends + (put & beat.last) - (take & out.last)),
        ]
        flow = Flow(beat, out, put, take, gone, inside)
        none = Signal(self.header + units, name="none")
        self.follow_word(m, flow, below=none, gap=none[0], shift=none[0])
        self.follow_end(m, flow, ends, count)
        m.d.comb += [
            Assert(inside <= 4 * units),
            Assert(~dut.output.valid | (packed(out.keep) & out.keep[0])),
            Assert(~dut.output.valid | out.last | out.keep.all()),
        ]


class Storing(Bench):
    """Every word has its code in its window's header, and is in its lane if it is a literal.

    Ghost state: any one word is followed. Of its beat, ``place`` is the number in its window and ``literals`` the
    number of literals; ``rank`` counts those below the word. ``ahead`` counts the beats inside before its own, which
    identifies its step. ``shown`` is the header of the window whose steps are going out.
    """

    def __init__(self, store: WindowStore) -> None:
        self.store = store
        self.config = store.config

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.store
        config, fmt = self.config, self.config.format
        lanes, units, codes = config.lanes, config.units, fmt.code_bits
        obey(m, dut.input, "input")
        hold(m, dut.step, "step")
        free(m, "arrival_ready", dut.arrival.ready)
        beat, step = dut.input.payload, dut.step.payload
        put, take = dut.input.valid & dut.input.ready, dut.step.valid & dut.step.ready
        m.d.comb += [
            Assume(~dut.input.valid | (packed(beat.keep) & beat.keep[0])),
            Assume(~dut.input.valid | beat.last | beat.keep.all()),
        ]
        place, inside = Signal(range(config.beats)), Signal(range(8))
        ends_window = beat.last | (place == config.beats - 1)
        with m.If(put):
            m.d.sync += place.eq(Mux(ends_window, 0, place + 1))
        m.d.sync += inside.eq(inside + put - take)

        code_of = [self._code(beat, lane) for lane in range(lanes)]
        literal = [code == fmt.literal_code for code in code_of]
        lane = free(m, "lane", shape=range(lanes))
        follow = free(m, "follow")
        tracked, left = Signal(), Signal()
        word, code = Signal(fmt.word_bits), Signal(codes)
        kept_lane, kept_place = Signal.like(lane), Signal.like(place)
        rank, literals, words = (
            Signal(range(lanes + 1), name=name) for name in ("rank", "literals", "words")
        )
        ahead, last = Signal.like(inside), Signal(name="was_last")
        with m.If(~tracked & put & follow & beat.keep.bit_select(lane, 1)):
            m.d.sync += [
                tracked.eq(1),
                word.eq(beat.data[lane]),
                code.eq(Array(code_of)[lane]),
                kept_lane.eq(lane),
                kept_place.eq(place),
                rank.eq(sum((Mux(lane > each, literal[each], 0) for each in range(lanes)), start=0)),
                literals.eq(sum(literal)),
                words.eq(popcount(beat.keep)),
                last.eq(beat.last),
                ahead.eq(inside - take),
            ]
        with m.Elif(tracked & take):
            m.d.sync += [ahead.eq(ahead - 1), tracked.eq(ahead != 0), left.eq(left | (ahead == 0))]
        position = _positions(m, step, take, units)
        shown = Signal(fmt.window * codes)
        header = Mux(step.first, Value.cast(step.header), shown)
        with m.If(take):
            m.d.sync += shown.eq(header)
        here = tracked & (ahead == 0) & dut.step.valid
        start = step.start + Mux(step.first, fmt.header_words, 0)
        target = Signal(exact_log2(units))
        number = Signal(range(fmt.window))
        m.d.comb += [
            target.eq(start + rank),
            number.eq(kept_place * lanes + kept_lane),
            Assert(inside <= dut.stages),
            Assert(~dut.step.valid | ((inside != 0) & (step.start == position))),
            Assert(~here | ((step.first == (kept_place == 0)) & (step.last == last))),
            Assert(~here | (step.total == start + literals)),
            Assert(~here | ((header >> (number * codes))[:codes] == code)),
            Assert(~(here & (code == fmt.literal_code)) | (step.words[target] == word)),
            # Past the end of a packet all codes are 0.
            Assert(~(here & last) | (header >> ((kept_place * lanes + words) * codes) == 0)),
            Cover(left & (word == 1)),
            Cover(here & last & ~step.first & (rank != 0)),
        ]

    def _code(self, beat: Value, lane: int) -> Value:
        """The code of a word by the definition of the format; 0 where there is none."""
        fmt = self.config.format
        chosen: Value = Const(fmt.literal_code, fmt.code_bits)
        for entry, value in reversed(list(enumerate(fmt.values))):
            chosen = Mux(beat.data[lane] == value, entry, chosen)
        return Mux(beat.keep[lane], chosen, 0)


def _storing(config: str, codec: CodecConfig) -> Proof:
    return Proof(
        name="window_store",
        config=config,
        claim="each word has its code in its window's header, and if it is a literal, its lane of the output",
        blocks=(WindowStore,),
        built_so=plain_codec,
        bench=lambda: Storing(WindowStore(codec)),
    )


def _packing(config: str, codec: CodecConfig, *, quick: bool = True) -> Proof:
    depth = 2 if codec.format.header_words == 1 else 3
    return Proof(
        name="packer",
        config=config,
        claim="the words of all steps, of headers first, come out in order, unchanged, in full beats",
        blocks=(Packer, BeatQueue),
        built_so=plain_codec,
        bench=lambda: Packing(Packer(codec, BeatQueue(codec, depth))),
        quick=quick,
    )


_ZEROS = CodecConfig(Format(word_bits=2, window=4), lanes=2)
_VALUES = CodecConfig(Format(word_bits=4, window=4, code_bits=2, values=(0, 5, 9)), lanes=2)


#: Cycles of the contract beyond those of the words.
_CONSTANT = 8


@dataclass(eq=False)
class Pace(Bench):
    """Any number of packets of any length back to back, with a source that is always valid until it ends and sinks that
    are always ready.

    From the first beat in to the last beat out, both counted, they take no more cycles than the contract allows: those
    of the larger side of each window of a packet, rounded up to a beat, a constant, and one for each packet after the
    first.

    Ghost state: ``words`` and ``literals`` of the window that comes in, and ``rest``, the words of the packet beyond
    whole beats. ``slack`` is the number of words that could have passed since the first beat, less those that the
    contract allows for the input so far. It never reaches its upper end, and saturates at its lower one, nearer to the
    limit than it would have to be.
    """

    compressor: Compressor
    constant: int = _CONSTANT

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.compressor
        lanes, fmt = dut.config.lanes, dut.config.format
        beat, out = dut.input.payload, dut.output.payload
        payload = Value.cast(beat)
        free(m, "payload", beat)
        begun, given, again = Signal(), Signal(), Signal()
        enters, leaves = dut.input.valid & dut.input.ready, dut.output.valid
        ends_packet = enters & beat.last
        waiting = last_cycle(m, dut.input.valid & ~dut.input.ready, "waiting")
        m.d.comb += [
            dut.input.valid.eq(~given),
            dut.output.ready.eq(1),
            dut.report.ready.eq(1),
            Assume(~waiting | (payload == last_cycle(m, payload, "payload_was"))),
            Assume(packed(beat.keep) & beat.keep[0]),
            Assume(beat.last | beat.keep.all()),
        ]
        m.d.sync += [
            begun.eq(begun | enters),
            again.eq(again | ends_packet),
            given.eq(given | (ends_packet & free(m, "stop"))),
        ]
        inside, inside_next = Signal(range(8)), Signal(range(8))
        m.d.comb += inside_next.eq(inside + ends_packet - (leaves & out.last))
        m.d.sync += inside.eq(inside_next)

        words, literals = (Signal(range(fmt.window + 1), name=name) for name in ("words", "literals"))
        rest = Signal(range(lanes))
        with_beat, found = Signal.like(words, name="with_beat"), Signal.like(words, name="found")
        stored, larger = (Signal(range(2 * fmt.window + 1), name=name) for name in ("stored", "larger"))
        ends_window = enters & (beat.last | (with_beat == fmt.window))
        literal = [beat.keep[lane] & (beat.data[lane] != 0) for lane in range(lanes)]
        m.d.comb += [
            with_beat.eq(words + popcount(beat.keep)),
            found.eq(literals + sum(literal)),
            stored.eq(found + fmt.header_words),
            larger.eq(Mux(stored > with_beat, stored, with_beat)),
        ]
        with m.If(enters):
            m.d.sync += [words.eq(Mux(ends_window, 0, with_beat)), literals.eq(Mux(ends_window, 0, found))]
        with m.If(ends_window):
            m.d.sync += rest.eq(Mux(beat.last, 0, rest + larger))

        most = (self.constant + 4) * lanes
        slack, allowed, after = (
            Signal(range(-2 * most, 2 * most), name=name) for name in ("slack", "allowed", "after")
        )
        # A packet's words are rounded up to whole beats.
        rounded = Signal(range(lanes))
        m.d.comb += [
            rounded.eq(-(rest + larger)),
            allowed.eq(Mux(ends_window, larger, 0) + Mux(ends_packet, rounded + Mux(again, lanes, 0), 0)),
            # After the last packet no time passes.
            after.eq(slack + Mux(enters | (begun & ~(given & (inside == 0))), lanes, 0) - allowed),
        ]
        m.d.sync += slack.eq(Mux(after < -most, -most, after))
        all_out = leaves & out.last & given & (inside_next == 0)
        m.d.comb += [
            Assert(inside != 7),
            Assert(after <= most),
            Assert(~all_out | (after <= self.constant * lanes)),
            Cover(all_out & (after == 4 * lanes) & again),
            Cover(all_out & again & (after < 4 * lanes)),
        ]


def _pace(config: str, codec: CodecConfig) -> Proof:
    return Proof(
        name="compressor_pace",
        config=config,
        claim="with nothing in its way no packet takes more cycles than the larger side of each of its windows, and 8; one"
        " that follows another takes one more at most",
        blocks=(PlainCompressor,),
        built_so=plain_codec,
        bench=lambda: Pace(Compressor(codec)),
        prepare=REDUCED,
        cover=24,
        quick=False,
    )


#: More groups than are ever inside.
_GROUPS = 32


@dataclass(eq=False)
class Marking(Bench):
    """Any packets; one window is followed, any.

    Ghost state: ``place`` and ``window`` of the beat at the input, and ``group``, which counts groups; the same of the
    followed window, with ``present``, whether a word of it is stored so far, and ``ahead``, the beats before it.
    """

    store: GroupStore

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.store
        obey(m, dut.input, "input")
        hold(m, dut.output, "output")
        hold(m, dut.mask, "mask")
        beat, out = dut.input.payload, dut.output.payload
        enters, leaves = dut.input.valid & dut.input.ready, dut.output.valid & dut.output.ready
        m.d.comb += [
            Assume(~dut.input.valid | (packed(beat.keep) & beat.keep[0])),
            Assume(~dut.input.valid | beat.last | beat.keep.all()),
        ]
        here = self._count(m, enters, "in", beat.last)
        kept = {name: Signal.like(value, name=f"kept_{name}") for name, value in here.items()}
        stored = Cat(beat.keep[lane] & (beat.data[lane] != 0) for lane in range(dut.config.lanes)).any()
        #: A window is followed; more of it may come; its mask has not left.
        tracked, open_, unseen = (Signal(name=name) for name in ("tracked", "open", "unseen"))
        present, first = Signal(), Signal.like(beat, name="first_beat")
        ahead, inside = (Signal(range(64), name=name) for name in ("ahead", "inside"))
        ends = beat.last | (here["place"] == dut.config.beats - 1)
        follows = free(m, "follow") & enters & (here["place"] == 0) & ~tracked & ~unseen
        m.d.sync += inside.eq(inside + enters - leaves)
        with m.If(follows):
            m.d.sync += [kept[name].eq(value) for name, value in here.items()]
            m.d.sync += [tracked.eq(1), open_.eq(~ends), unseen.eq(1), first.eq(beat), present.eq(stored)]
            m.d.sync += ahead.eq(inside - leaves)
        with m.Elif(enters & open_):
            m.d.sync += [open_.eq(~ends), present.eq(present | stored)]
        mine = tracked & dut.output.valid & (ahead == 0)
        with m.If(tracked & leaves):
            m.d.sync += ahead.eq(Mux(ahead == 0, 0, ahead - 1))
            with m.If(ahead == 0):
                m.d.sync += tracked.eq(0)
        taken = Signal(range(_GROUPS))
        takes = dut.mask.valid & dut.mask.ready
        my_mask = unseen & dut.mask.valid & (taken == kept["group"])
        with m.If(takes):
            m.d.sync += taken.eq(taken + 1)
        with m.If(my_mask & takes):
            m.d.sync += unseen.eq(0)
        same = Cat(out[name] == first[name] for name in ("data", "keep", "last")).all()
        m.d.comb += [
            Assert(~mine | (same & ~open_ & (out.absent == ~present) & (out.opens == (kept["window"] == 0)))),
            Assert(~my_mask | (~open_ & (dut.mask.payload.bit_select(kept["window"], 1) == present))),
            Cover(mine & leaves & out.absent & (kept["window"] == 1)),
            Cover(mine & leaves & ~out.absent & ~first.last & (kept["window"] == 1)),
            Cover(my_mask & takes & (kept["window"] == 2) & present & (kept["group"] != 0)),
        ]

    def _count(self, m: Module, moves: Value, name: str, last: Value) -> dict[str, Any]:
        """The place of a beat in its window, its window in its group, and its group."""
        config = self.store.config
        place = Signal(range(config.beats), name=f"place_{name}")
        window = Signal(range(config.format.group), name=f"window_{name}")
        group = Signal(range(_GROUPS), name=f"group_{name}")
        ends_window = last | (place == config.beats - 1)
        with m.If(moves):
            m.d.sync += place.eq(Mux(ends_window, 0, place + 1))
        with m.If(moves & ends_window):
            m.d.sync += window.eq(Mux(last, 0, window + 1))
            m.d.sync += group.eq(group + (last | window.all()))
        return {"place": place, "window": window, "group": group}


def _two_levels(config: Config) -> bool:
    codec = codec_in(config)
    return codec is not None and codec.format.levels == 2


_SMALL = CodecConfig(Format(4, 8, levels=2, group=8), lanes=4)


PROOFS = [
    _storing("2 lanes, c = 1", _ZEROS),
    _storing("2 lanes, c = 2", _VALUES),
    _storing("4 lanes, c = 1", CodecConfig(Format(word_bits=2, window=8), lanes=4)),
    _packing("2 lanes, c = 1", _ZEROS),
    _packing("2 lanes, c = 2", _VALUES, quick=False),
    _packing("4 lanes, c = 1", CodecConfig(Format(word_bits=4, window=4), lanes=4), quick=False),
    _pace("2 lanes, c = 1", CodecConfig(Format(word_bits=4, window=4), lanes=2)),
    _pace("2 lanes, c = 2", CodecConfig(Format(word_bits=4, window=4, code_bits=2), lanes=2)),
    Proof(
        name="group_store",
        config="4 lanes, words of 4 bits, groups of 8 windows of 8",
        claim="a beat is marked absent, and its mask has a 0, if and only if no word of its whole window is stored",
        blocks=(GroupStore,),
        built_so=_two_levels,
        bench=lambda: Marking(GroupStore(_SMALL, stages=4)),
        method="bmc",
        depth=12,
        cover=24,
    ),
    Proof(
        name="lossless",
        config="two levels, 4 lanes, words of 4 bits, groups of 8 windows of 8",
        claim="each word that was compressed is delivered again, in its place, and each packet with its length",
        # A codec has one half.
        built_so=_two_levels,
        bench=lambda: Lossless(_SMALL, most=20, packets=32),
        method="bmc",
        depth=17,
        cover=24,
        quick=False,
    ),
]
