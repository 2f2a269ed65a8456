"""Puts packets into bursts that are known beforehand: the runs of a shape, or one run."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.counter import WideCounter
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.gates import popcount

from .command import Command
from .cutter import CutBurst, Cutter
from .gather import Burst, StoredBeat
from .port_shape import PortShape
from .span import SPAN_BITS

__all__ = ["CUT", "Scatter"]

#: Bursts that are cut ahead.
CUT = 4


class Scatter(wiring.Component):
    """In the place of a :class:`.Gather`: takes one packet from ``input`` for the commands of a packet, which are those with
    ``more`` and the one after them, gives its words to ``store`` and its bursts to ``bursts``.

    All commands have room for their packets. A packet may end early, and then what is left of its commands is passed over.
    Throughput: a beat per cycle, from packet to packet and from run to run.

    ``admit``, ``flush``
        Those of :class:`.Gather`.
    ``ended``, ``end``
        A pulse and the bytes of the packet, three cycles after the burst that is its ``end``.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        super().__init__(
            {
                "command": In(stream.Signature(Command(shape.address_bits, "more", owner=shape.owner_bits))),
                "input": In(stream.Signature(Beat(shape.word_bits, shape.lanes))),
                "store": Out(stream.Signature(StoredBeat(shape), always_ready=True)),
                "bursts": Out(stream.Signature(Burst(shape), always_ready=True)),
                "admit": In(1),
                "flush": In(1),
                "ended": Out(1),
                "end": Out(SPAN_BITS),
                **({"skip": Out(1)} if shape.limited else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = self.shape
        m.submodules.cutter = cutter = Cutter(shape)
        m.submodules.cut = cut = Fifo(CutBurst(shape), CUT)
        wiring.connect(m, wiring.flipped(self.command), cutter.command)
        beat, burst, room = self.input.payload, self.bursts.payload, cut.output.payload
        admits = Signal()
        drops = Signal()
        #: The packet has ended, and its bursts have not; or these have, and it has not.
        skips = Signal()
        tail = Signal()
        accept = Signal()
        keeps = Signal()
        full = Signal()
        finishes = Signal()
        #: The beat at the input does not fit: what of its burst is here goes first.
        cuts = Signal()
        #: The beat at the input has a word.
        present: Value = beat.keep.any() if shape.realign else beat.keep[0]
        #: The burst in hand is given.
        gives: Value = full | cuts if shape.limited else full
        count = Signal(range(shape.burst))
        accepts = admits & ~skips & ~cuts if shape.limited else admits & ~skips
        m.d.sync += [admits.eq(self.admit), drops.eq(self.flush)]
        # No burst comes to those that are passed over, or there would be as many as the command has room for.
        holds = Signal()
        m.d.comb += [
            holds.eq(skips & ~cut.empty),
            cut.input.valid.eq(cutter.output.valid & ~holds),
            cut.input.payload.eq(cutter.output.payload),
            cutter.output.ready.eq(cut.input.ready & ~holds),
            self.input.ready.eq((accepts & (tail | cut.output.valid)) | drops),
            accept.eq(self.input.valid & self.input.ready & ~drops),
            keeps.eq(accept & present & ~tail),
            full.eq(keeps & (count == room.len)),
            finishes.eq(accept & beat.last),
            self.store.valid.eq(keeps),
            self.store.payload.data.eq(beat.data),
            self.store.payload.keep.eq(beat.keep),
            self.bursts.valid.eq(full | finishes),
            burst.beat.eq(room.beat),
            burst.len.eq(count - ~keeps),
            burst.none.eq(~keeps & (count == 0)),
            burst.end.eq(finishes),
            cut.output.ready.eq(gives | skips | (finishes & ~tail)),
            cutter.skip.eq(skips & cut.empty),
        ]
        if shape.owner_bits:
            m.d.comb += burst.owner.eq(room.owner)
        if shape.limited:
            fills = admits & ~skips & ~drops & ~tail & cut.output.valid & self.input.valid
            beyond = Cat(beat.keep[lane] & (room.words <= lane) for lane in range(shape.lanes)).any()
            m.d.comb += [
                self.skip.eq(cutter.skip),
                self.bursts.valid.eq(full | finishes | (cuts & (count != 0))),
                cuts.eq(fills & room.end & (count == room.len) & beyond),
            ]
            #: Where the first beat after the last burst would go; one of the packet does not fit.
            after = Signal.like(room.beat, reset_less=True)
            lost = Signal()
            with m.If(gives):
                m.d.sync += after.eq(room.beat + count + full)
            if shape.realign:
                #: Its first word, where it is the packet's first beat.
                after_lane = Signal.like(room.lane, reset_less=True)
                with m.If(gives):
                    m.d.sync += after_lane.eq(Mux(cuts & (count == 0), room.lane, 0))
                m.d.comb += burst.lane.eq(Mux(tail, after_lane, room.lane))
            with m.If(tail):
                m.d.comb += [burst.beat.eq(after), burst.overflow.eq(lost | present)]
                with m.If(accept):
                    m.d.sync += lost.eq((lost | present) & ~beat.last)
        elif shape.realign:
            m.d.comb += burst.lane.eq(room.lane)
        with m.If(gives | finishes):
            m.d.sync += count.eq(0)
        with m.Elif(keeps):
            m.d.sync += count.eq(count + 1)
        with m.If(finishes):
            m.d.sync += [skips.eq(~tail & ~room.end), tail.eq(0)]
        with m.Elif(gives):
            m.d.sync += tail.eq(room.end)
        with m.Elif(skips & cut.output.valid):
            m.d.sync += skips.eq(~room.end)
        self._sum(m, keeps, finishes)
        return m

    def _sum(self, m: Module, keeps: Value, finishes: Value) -> None:
        """Counts the words of the packet, any of whose beats may lack some at either end."""
        word_log2 = self.shape.word_log2
        kept = Signal(self.shape.lanes)
        number = Signal(range(self.shape.lanes + 1))
        passed = Signal(3)
        m.submodules.words = words = WideCounter(self.shape.lanes, SPAN_BITS - word_log2)
        m.d.sync += [
            kept.eq(Mux(keeps, self.input.payload.keep, 0)),
            number.eq(popcount(kept)),
            passed.eq(Cat(finishes, passed)),
        ]
        m.d.comb += [
            words.amount.eq(number),
            words.clear.eq(self.ended),
            self.ended.eq(passed[-1]),
            self.end.eq(words.value << word_log2),
        ]
