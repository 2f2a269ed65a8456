"""The data path of an engine: words move between the lanes of a packet and those of memory, and a beat of raw data is
changed by the beat of its base with the same number."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.axi.realign import Raise, ReadStore, WriteStore
from cdma.hdl.blocks.arithmetic import popcount, rotate_up, turn_by
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.engine.path.base import Change
from cdma.hdl.spec.engine import EngineConfig

from .bench import Bench, free, hold, obey
from .proof import Proof
from .word_flow import flow_proof

_BEATS = 4
#: Beats in the buffer and in the registers behind it.
_INSIDE = _BEATS + 2


class _Moved(wiring.Component):
    """Moves the words of each packet by its ``shift``; ``leaving`` is that of the packet at the output."""

    def __init__(self, word_bits: int, lanes: int) -> None:
        self.lanes = lanes
        self.port = PortShape(
            word_bits=word_bits,
            data_bits=word_bits * lanes,
            address_bits=12,
            burst=2,
            outstanding=2,
            buffer=_BEATS,
            realign=True,
        )
        beats = stream.Signature(Beat(word_bits, lanes))
        bits = exact_log2(lanes)
        super().__init__(
            {
                "shift": In(stream.Signature(bits)),
                "input": In(beats),
                "output": Out(beats),
                "leaving": Out(bits),
            }
        )


class Lowered(_Moved):
    """As a reader does it."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, lanes = self.input.payload, self.lanes
        m.submodules.store = store = ReadStore(self.port)
        m.submodules.turns = turns = Fifo(exact_log2(lanes), _BEATS, reserved=True)
        wiring.connect(m, turns.output, store.turns)
        wiring.connect(m, store.output, wiring.flipped(self.output))
        begins = Signal(init=1)
        inside = Signal(range(_BEATS + 1))
        enters = Signal()
        turn = Signal(exact_log2(lanes))
        below = (1 << self.shift.payload) - 1
        words = popcount(beat.keep | Mux(begins, below, 0)) - 1 + turn
        end = store.input.payload.end
        m.d.comb += [
            turn.eq(-self.shift.payload),
            self.input.ready.eq(self.shift.valid & (inside != _BEATS)),
            enters.eq(self.input.valid & self.input.ready),
            self.shift.ready.eq(enters & beat.last),
            store.input.valid.eq(enters),
            store.input.payload.data.eq(Cat(rotate_up(list(beat.data), turn))),
            end.last.eq(beat.last),
            end.part.eq(1),
            end.words.eq(words),
            end.joins.eq(~words[exact_log2(lanes)]),
            turns.input.valid.eq(enters & begins),
            turns.input.payload.eq(turn),
        ]
        m.d.sync += inside.eq(inside + enters - store.freed)
        with m.If(enters):
            m.d.sync += begins.eq(beat.last)
        return m


class Raised(_Moved):
    """As a writer does it."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self.lanes
        m.submodules.raises = raises = Raise(lanes)
        m.submodules.store = store = WriteStore(self.port)
        m.submodules.ends = ends = Fifo(1, 2 * _BEATS, reserved=True)
        m.submodules.turns = turns = Fifo(exact_log2(lanes), 2 * _BEATS, reserved=True)
        begins = Signal(init=1)
        enters = Signal()
        leaves = Signal()
        wiring.connect(m, wiring.flipped(self.shift), raises.shift)
        m.d.comb += [
            raises.input.valid.eq(self.input.valid),
            self.input.ready.eq(raises.input.ready),
            raises.input.payload.keep.eq(self.input.payload.keep),
            raises.input.payload.last.eq(self.input.payload.last),
            raises.output.ready.eq(store.level != _BEATS),
            enters.eq(raises.output.valid & raises.output.ready),
            store.input.valid.eq(enters),
            store.input.payload.data.eq(self.input.payload.data),
            store.input.payload.keep.eq(raises.output.payload.keep),
            ends.input.valid.eq(enters),
            ends.input.payload.eq(raises.output.payload.last),
            turns.input.valid.eq(enters & begins),
            turns.input.payload.eq(self.shift.payload),
            store.turn.eq(turn_by(turns.output.payload)),
            self.leaving.eq(turns.output.payload),
            self.output.valid.eq(store.output.valid),
            store.output.ready.eq(self.output.ready),
            self.output.payload.data.eq(store.output.payload.data),
            self.output.payload.keep.eq(store.output.payload.keep),
            self.output.payload.last.eq(ends.output.payload),
            leaves.eq(self.output.valid & self.output.ready),
            ends.output.ready.eq(leaves),
            turns.output.ready.eq(leaves & ends.output.payload),
        ]
        with m.If(enters):
            m.d.sync += begins.eq(raises.output.payload.last)
        return m


def _proof(kind: type[wiring.Component], block: type[_Moved], stall: int, shift: str) -> Proof:
    return flow_proof(
        kind,
        f"{shift}, 2 lanes",
        "realign",
        lambda: block(2, 2),
        *(2, 2, stall, shift),
        buffer=_INSIDE,
        depth=8,
        quick=False,
    )


#: Beats of a packet, and packets, are counted modulo this.
_COUNTED = 16


class Pairing(Bench):
    """Any packets, of which any have a base, which has as many beats or more.

    Ghost state: the beats of the packet at the input and of that at ``base`` which have gone by; the bases that have
    begun to go by, and the packets that have had one.
    """

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = Change(1, 2)
        source, base, deltas, output = dut.input, dut.base, dut.deltas, dut.output
        obey(m, source, "input")
        obey(m, base, "base")
        free(m, "deltas_payload", deltas.payload)
        free(m, "deltas_valid", deltas.valid)
        # What was told of a packet stays until it has gone by.
        told, was = Signal(), Signal()
        m.d.sync += [told.eq(deltas.valid & ~deltas.ready), was.eq(deltas.payload)]
        m.d.comb += Assume(~told | (deltas.valid & (deltas.payload == was)))
        hold(m, output, "output")
        moved, taken = output.valid & output.ready, base.valid & base.ready
        beat, base_beat = (Signal(range(_COUNTED), name=name) for name in ("beat", "base_beat"))
        packets, bases = (Signal(range(_COUNTED), name=name) for name in ("packets", "bases"))
        m.d.sync += [
            beat.eq(_next(beat, moved, source.payload.last)),
            base_beat.eq(_next(base_beat, taken, base.payload.last)),
            packets.eq(packets + (deltas.valid & deltas.ready & deltas.payload)),
            bases.eq(bases + (taken & base.payload.last)),
        ]
        delta = deltas.payload
        of_base = Mux(delta, base.payload.data.as_value(), 0)
        m.d.comb += [
            # A base is as long as its data at least.
            Assume(~(moved & delta & base.payload.last) | source.payload.last),
            # No count comes round within a packet.
            Assume((beat != _COUNTED - 1) & (base_beat != _COUNTED - 1)),
            Assert(packets == bases),
            Assert(~moved | (output.payload.data.as_value() == source.payload.data.as_value() ^ of_base)),
            Assert(~moved | (output.payload.keep == source.payload.keep)),
            Assert(~moved | (output.payload.last == source.payload.last)),
            Assert(moved == (source.valid & source.ready)),
            Assert(~(moved & delta) | (taken & (base_beat == beat))),
            Assert(~(moved & ~delta) | ~taken),
            Cover(moved & delta & source.payload.last & (beat == 2) & (packets == 1)),
            Cover(taken & ~moved & base.payload.last & (base_beat == 3)),
        ]


def _next(count: Value, moves: Value, last: Value) -> Value:
    """The count after a beat."""
    return Mux(moves, Mux(last, 0, count + 1), count)


PROOFS = [
    _proof(ReadStore, Lowered, 4, "down"),
    _proof(WriteStore, Raised, 3, "up"),
    Proof(
        name="bases",
        config="2 lanes, words of 1 bit",
        claim="a beat of raw data is changed by the beat of its own base with the same number, and all of a base goes by",
        blocks=(Change,),
        built_so=lambda config: isinstance(config, EngineConfig) and config.delta,
        bench=Pairing,
    ),
]
