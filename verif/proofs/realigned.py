"""Buffers that move words to other lanes, between the lanes of a packet and those of memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.axi.realign import Raise, ReadStore, WriteStore
from cdma.hdl.blocks.arithmetic import popcount, rotate_up, turn_by
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat

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


PROOFS = [_proof(ReadStore, Lowered, 4, "down"), _proof(WriteStore, Raised, 3, "up")]
