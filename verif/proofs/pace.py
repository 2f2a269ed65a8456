"""A compressor loses no cycle: how long a packet takes, whatever its words are."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value

from cdma.hdl.blocks.arithmetic import popcount
from cdma.hdl.codec.generate import Compressor
from cdma.hdl.codec.plain.compressor import PlainCompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

from .bench import Bench, free, last_cycle
from .design import plain_codec
from .proof import REDUCED, Proof
from .word_flow import packed

__all__ = ["PROOFS", "Pace"]

#: Cycles of the contract beyond those of the words.
_CONSTANT = 8


class Pace(Bench):
    """Any number of packets of any length, one after the other, with a source that is always valid until it has no more and
    sinks that are always ready.

    From the first beat in to the last beat out, both counted, they take no more cycles than the contract allows: those of
    the larger side of each window of a packet, rounded up to a beat, a constant, and one for each packet after the first.

    Ghost state: ``words`` and ``literals`` of the window that comes in, and ``rest``, the words of the packet beyond whole
    beats. ``slack`` is the number of words that could have passed since the first beat, less those that the contract gives
    for what has come in. It never reaches its upper end, and stops at its lower one, where it is nearer to the limit than it
    would have to be.
    """

    def __init__(self, compressor: Compressor, constant: int = _CONSTANT) -> None:
        super().__init__()
        self.compressor = compressor
        self.constant = constant

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


PROOFS = [
    _pace("2 lanes, c = 1", CodecConfig(Format(word_bits=4, window=4), lanes=2)),
    _pace("2 lanes, c = 2", CodecConfig(Format(word_bits=4, window=4, code_bits=2), lanes=2)),
]
