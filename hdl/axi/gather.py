"""Cuts packets of words into the bursts that write them."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import is_next, turn_by
from cdma.hdl.blocks.registers import Beat, count_kept

from .ports import SPAN_BITS, Command, PortShape

#: A packet whose first beat has a number that is a multiple of this, and which has room for so many, may begin before its
#: command comes. No more than three beats do, so the end of a block is far.
EARLY = 8


class StoredBeat(data.StructLayout):
    """A beat that is to be written."""

    def __init__(self, shape: PortShape) -> None:
        super().__init__({"data": shape.data_bits, "keep": shape.lanes})


class Burst(data.StructLayout):
    """A burst whose beats are all in the store.

    ``beat``, ``len``: The number of its first beat in memory, and its beats less one.
    ``none``: It is no burst, only the end of a packet.
    ``end``: The packet is done after it.
    ``overflow``: The packet had more, which would have gone to ``beat``.
    ``lane``: The lane of its first word, where beats do not say it.
    ``turn``: How its words are moved, where they are.
    ``user``: That of the command.
    """

    def __init__(self, shape: PortShape) -> None:
        super().__init__(
            {
                "beat": shape.address_bits - shape.blocks.beat_log2,
                "len": range(shape.burst),
                "none": 1,
                "end": 1,
                "overflow": 1,
                "lane": exact_log2(shape.lanes) if shape.realign else 0,
                "turn": shape.turn,
                "user": shape.user_bits,
            }
        )


class _Position(NamedTuple):
    """The address of the next beat of the packet, in parts.

    ``block``, ``place``: The number of its block, and its number in the block. The block is counted with a burst: a
        cycle after the last beat.
    ``following``: The number of the block in the next cycle, with a carry bit.
    ``wrapped``: The number of the block has passed zero.
    ``begin``, ``lane``: The first beat of the current burst, as its number in the block, and the first lane of that
        beat.
    ``some``: The current burst has a beat.
    ``held``: The words of the packet's partial last beat.
    """

    block: Signal
    place: Signal
    following: Signal
    wrapped: Signal
    begin: Signal
    lane: Signal
    some: Signal
    held: Signal


class _Limit(NamedTuple):
    """The next beat, compared with the final beat: the last one that fits. All of it comes from registers.

    ``same``, ``following``: The final beat is in the block of the next beat; in the block after that.
    ``here``: The next beat is the final beat.
    ``shut``: The next beat is past the final beat, and does not fit.
    ``beyond``: The first lane of the final beat that is past the limit, one bit per lane.
    ``part``: There is such a lane: the final beat is partial.
    """

    same: Signal
    following: Signal
    here: Signal
    shut: Signal
    beyond: Signal
    part: Signal


class _Phase(NamedTuple):
    """The phases of a packet, one bit each, and what ends a burst.

    ``load``: Its command comes: the registers get their first values. This is a cycle of its own.
    ``settle``: The limit is compared with the block after the first. Only a packet has this cycle whose first beat is
        the last of a block.
    ``open``: Its beats come.
    ``close``: Its last beat has come: its last burst is given, and the end is reported.
    ``early``: Beats of the packet after it come, whose command does not yet: in ``close`` and ``load``.
    ``taking``: Beats are taken: while ``open``, and while ``early``, unless the packet before did not fit.
    ``admits``: A beat is taken in this cycle, if it is not ``early`` and to be refused: ``taking``, and it can be
        stored.
    ``filled``: A block was filled in the cycle before: its burst is given.
    """

    load: Signal
    settle: Signal
    open: Signal
    close: Signal
    early: Signal
    taking: Signal
    admits: Signal
    filled: Signal


class Gather(wiring.Component):
    """Takes one packet from ``input`` for each command, gives its words to ``store`` and its bursts to ``bursts``.

    A burst ends at a multiple of ``shape.burst`` beats or with the packet. An empty last beat ends a packet without
    adding to it. A beat that would go past the command's ``last`` is dropped, and so is the rest of its packet.

    Whether a beat fits is known before it comes, and what it does to the bursts is done a cycle later. So ``ready`` of
    the input does not depend on the input, and comes from registers. Throughput: a beat per cycle. A packet takes two
    more cycles if it is not ``ahead``, or if the one before it does not fit or has less than three beats; and a third if
    its first beat is the last of a block.

    ``ahead``: High while a command is there after the one in hand, and the beats that come before its own cycles surely
        fit: it begins with every :data:`EARLY` th beat of a block, and has room for as many. Not used in the first
        cycle of a command, which comes at most three cycles after the one before it is taken.
    ``admit``: High while in the next cycle the store can take a beat, and ``bursts`` three.
    ``flush``: While high, and a cycle longer, what comes in from the next cycle on is dropped. While high no packet is
        begun; of ports with registers, the first cycle may still begin one.
    ``end``: Where the packet ends, in the cycle in which its command is taken: the lower bits of the address after its
        last word.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        super().__init__(
            {
                "command": In(stream.Signature(Command(shape.address_bits, user=shape.user_bits))),
                "input": In(stream.Signature(Beat(shape.word_bits, shape.lanes))),
                "store": Out(stream.Signature(StoredBeat(shape), always_ready=True)),
                "bursts": Out(stream.Signature(Burst(shape), always_ready=True)),
                "ahead": In(1),
                "admit": In(1),
                "flush": In(1),
                "end": Out(SPAN_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape, blocks = self.shape, self.shape.blocks
        lane_bits = (shape.lanes - 1).bit_length()
        phase = _Phase(*(Signal(name=name) for name in _Phase._fields))
        position = _Position(
            block=Signal(blocks.block_bits, name="block", reset_less=True),
            place=Signal(blocks.place_bits, name="place"),
            following=Signal(blocks.block_bits + 1, name="following"),
            wrapped=Signal(name="wrapped", reset_less=True),
            begin=Signal(blocks.place_bits, name="begin", reset_less=True),
            lane=Signal(lane_bits if shape.realign else 0, name="lane", reset_less=True),
            some=Signal(name="some"),
            held=Signal(lane_bits, name="held"),
        )
        limit = _Limit(
            same=Signal(name="limit_same", reset_less=True),
            following=Signal(name="limit_following", reset_less=True),
            here=Signal(name="limit_here", reset_less=True),
            shut=Signal(name="limit_shut"),
            beyond=Signal(shape.lanes, name="limit_beyond", reset_less=True),
            part=Signal(name="limit_part", reset_less=True),
        )
        overflow = Signal()
        drops = Signal()
        m.d.sync += drops.eq(self.flush)
        accept, keeps = self._take(m, phase, limit, overflow, drops)
        pushes = self._push(m, phase, position, overflow)
        self._sequence(m, phase, accept, drops)
        full = accept & self.input.payload.keep[-1]
        # Which words a full beat has need not be compared with those that fit.
        fits = ~(phase.open & (limit.shut | (limit.here & limit.part)))
        self._advance(m, phase, position, pushes, accept & keeps, full & fits)
        self._approach(m, phase, position, limit, full)
        return m

    def _take(
        self, m: Module, phase: _Phase, limit: _Limit, overflow: Signal, drops: Signal
    ) -> tuple[Signal, Signal]:
        """Takes beats, and stores those that fit: gives whether one is taken, and whether it is to be stored."""
        beat = self.input.payload
        present = beat.keep.any() if self.shape.realign else beat.keep[0]
        misfit = Signal()
        exceeds = Signal()
        accept = Signal()
        keeps = Signal()
        m.d.comb += [
            # The limit is that of the packet whose command is in hand.
            misfit.eq(phase.open & (limit.shut | (limit.here & (beat.keep & limit.beyond).any()))),
            exceeds.eq(present & misfit),
            keeps.eq(present & ~misfit),
            # One look-up table, because many flip-flops before the input wait for it.
            self.input.ready.eq((phase.admits & ~(phase.early & overflow)) | drops),
            accept.eq(self.input.valid & self.input.ready & ~drops),
            self.store.valid.eq(accept & keeps),
            self.store.payload.data.eq(beat.data),
            self.store.payload.keep.eq(beat.keep),
        ]
        with m.If(phase.load):
            m.d.sync += [overflow.eq(0), limit.shut.eq(0)]
        with m.Elif(accept):
            m.d.sync += [
                overflow.eq(overflow | exceeds),
                limit.shut.eq(limit.shut | (present & limit.here)),
            ]
        return accept, keeps

    def _push(self, m: Module, phase: _Phase, position: _Position, overflow: Signal) -> Signal:
        """Gives bursts, and ends of packets."""
        blocks, command, burst = self.shape.blocks, self.command.payload, self.bursts.payload
        some, place, begin, held = position.some, position.place, position.begin, position.held
        m.d.comb += [
            # What was stored is given before the end, which says where the first beat that was dropped would have gone.
            self.command.ready.eq(phase.close & ~(overflow & some)),
            self.bursts.valid.eq(phase.close | phase.filled),
            burst.beat.eq(blocks.beat(command.first, command.last, position.wrapped, position.block, begin)),
            # Of the beats, less one: the place is that of the last beat only if this is not full.
            burst.len.eq(place - begin - ~held.any()),
            burst.none.eq(~some),
            burst.end.eq(self.command.ready),
            burst.overflow.eq(overflow & ~some),
            burst.lane.eq(position.lane),
            burst.turn.eq(turn_by(blocks.lane(command.first, self.shape.word_bits))),
            burst.user.eq(command.user),
            self.end.eq(Cat(C(0, self.shape.word_log2), held, place, position.following)),
        ]
        return self.bursts.valid

    def _sequence(self, m: Module, phase: _Phase, accept: Signal, drops: Signal) -> None:
        """Goes from phase to phase. Where a packet does not fit, its end takes longer, and no beats come early."""
        first = self.shape.blocks.place(self.command.payload.first)
        busy = Signal()
        finishes = Signal()
        #: The packet's last beat came early.
        ended = Signal()
        m.d.comb += [
            # On an FPGA the flush comes from afar, and the packet is dropped all the same.
            phase.load.eq(self.command.valid & ~busy & ~(drops if self.shape.pipelined else self.flush)),
            finishes.eq(accept & self.input.payload.last),
        ]
        opens = ~(first.all() | ended | finishes)
        taking_next = Signal()
        m.d.comb += taking_next.eq(phase.taking)
        m.d.sync += [phase.taking.eq(taking_next), phase.admits.eq(taking_next & self.admit)]
        with m.If(phase.load):
            m.d.comb += taking_next.eq(opens)
            m.d.sync += [
                busy.eq(1),
                phase.settle.eq(first.all()),
                phase.open.eq(opens),
                phase.close.eq(ended | finishes),
                phase.early.eq(0),
                ended.eq(0),
            ]
        with m.Else():
            with m.If(phase.settle):
                m.d.comb += taking_next.eq(1)
                m.d.sync += [phase.settle.eq(0), phase.open.eq(1)]
            with m.If(self.command.ready):
                m.d.sync += [phase.close.eq(0), busy.eq(0)]
            with m.If(finishes):
                m.d.comb += taking_next.eq(phase.open & self.ahead)
                m.d.sync += [
                    phase.open.eq(0),
                    phase.close.eq(phase.open),
                    phase.early.eq(phase.open & self.ahead),
                    ended.eq(~phase.open),
                ]

    def _advance(
        self, m: Module, phase: _Phase, position: _Position, pushes: Signal, stored: Value, full: Value
    ) -> None:
        """Goes on to the position after a beat that is ``stored``, which is ``full`` or the last one.

        Only the last beat with words is not full, and it does not count: so the position after the last word is this
        beat, and as many words as it has.
        """
        shape, blocks = self.shape, self.shape.blocks
        first, keep = self.command.payload.first, self.input.payload.keep
        block, place, following, wrapped, begin, lane, some, held = position
        start = blocks.lane(first, shape.word_bits) if shape.realign else C(0, len(held))
        # A full beat counts as none, because the position after it is the next beat's. Lanes below the first word count in
        # the same way, and what is held already has them.
        words = count_kept(keep)[: len(held)]
        counted = (block + 1)[: len(following)]
        m.d.comb += following.eq(Mux(phase.filled, counted, block))
        with m.If(phase.load):
            m.d.sync += [
                block.eq(blocks.block(first)),
                wrapped.eq(0),
                begin.eq(blocks.place(first)),
                lane.eq(start),
            ]
        with m.Else():
            m.d.sync += [block.eq(following), wrapped.eq(wrapped | following[-1])]
            with m.If(pushes):
                m.d.sync += [begin.eq(place), lane.eq(0)]
        # From the end of a packet on, place and words count what comes early of the next one, whose beginning is added with
        # its command.
        from_place = Signal.like(place)
        from_held = Signal.like(held)
        with m.If(phase.load):
            early = place[: exact_log2(EARLY)]
            m.d.comb += [from_place.eq(blocks.place(first) | early), from_held.eq(start | held)]
        with m.Elif(~self.command.ready):
            m.d.comb += [from_place.eq(place), from_held.eq(held)]
        m.d.sync += [
            # The sum does not wait for the beat, which comes late.
            place.eq(Mux(full, from_place + 1, from_place)),
            held.eq(from_held ^ Mux(stored, words, 0)),
            some.eq(stored | (some & ~pushes)),
            phase.filled.eq(full & place.all() & phase.open),
        ]

    def _approach(self, m: Module, phase: _Phase, position: _Position, limit: _Limit, full: Value) -> None:
        """Knows a beat ahead whether the next one is the last that fits, from each ``full`` beat, also one that does not
        fit: from there on none does."""
        shape, blocks = self.shape, self.shape.blocks
        first, last = self.command.payload.first, self.command.payload.last
        place = position.place
        same = blocks.block(first) == blocks.block(last)
        # The block changes at most every fourth cycle, so that of the next one is compared in time.
        with m.If(phase.settle | phase.open):
            m.d.sync += limit.following.eq(is_next(position.block, blocks.block(last)))
        with m.If(phase.load):
            beyond = last[shape.word_log2 : blocks.beat_log2] + last[: shape.word_log2].all()
            m.d.sync += [
                limit.same.eq(same),
                limit.here.eq(same & (blocks.place(first) == blocks.place(last))),
                limit.beyond.eq(Cat(beyond == lane for lane in range(shape.lanes))),
                limit.part.eq(beyond != shape.lanes),
            ]
        with m.Elif(full):
            with m.If(place.all()):
                m.d.sync += [
                    limit.same.eq(limit.following),
                    limit.here.eq(limit.following & ~blocks.place(last).any()),
                ]
            with m.Else():
                m.d.sync += limit.here.eq(limit.same & (place + 1 == blocks.place(last)))
