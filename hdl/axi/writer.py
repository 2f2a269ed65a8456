"""Writes packets of words as AXI4 bursts of exactly the right length, although it is not known in advance."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.elaboration import Pace, copies, optional
from cdma.hdl.blocks.memories import PlainMemories, WordCheck, coding_of
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat, BeatSlice, ElasticBuffer, SkidBuffer, slice_after

from .arbiter import CUT, Scatter
from .gather import Burst, Gather, StoredBeat
from .ports import SPAN_BITS, PortShape, Response, address_checks, whole_address
from .realign import Raise, WriteStore

#: Bursts that wait for their address.
_BURSTS = 8


class _Waiting(data.StructLayout):
    """A :class:`.Burst` in memory, with the ``checks`` of its address."""

    def __init__(self, shape: PortShape) -> None:
        of_burst = {name: field.shape for name, field in Burst(shape)}
        super().__init__({"beat": of_burst.pop("beat"), "checks": shape.address_checks, **of_burst})


class _Queues(NamedTuple):
    """The queues between the parts of the writer.

    ``store``: Beats with words.
    ``bursts``: Bursts whose beats are all in the store, or ends of packets without one.
    ``lengths``: Beats less one of the bursts whose address is taken.
    ``opened``: Bursts that wait for their response.
    """

    store: Fifo | WriteStore
    bursts: Fifo
    lengths: Fifo
    opened: Fifo


class AxiWriter(wiring.Component):
    """Each command takes one packet from ``input`` and gives one ``outcome`` with its last response.

    All data of a burst are in the buffer before its address goes out. A burst ends at a multiple of ``shape.burst``
    beats or with the packet. An empty last beat ends a packet without adding to it, and a packet without words has no
    burst at all. Every beat has at least one strobe. Data follow their address, in order, and at most
    ``shape.outstanding`` bursts wait for their response.

    A beat that would go past the command's ``last`` is dropped, and so is the rest of its packet; the packet need not
    reach it.

    Where ``shape.realign`` is set, the words are moved to the lane where the packet begins, and the lanes before it
    get no strobe. Bursts have the addresses of whole beats all the same.

    ``ahead``: That of :class:`.Gather`: lets packets follow each other without a gap.
    ``end``: Where the packet ends, in the cycle in which its command is taken: the lower bits of the address after its
        last word.
    ``outcome``: Notes the address where the first burst that failed began. If none failed, it is the address of the
        first beat that did not fit, with its first word.
    ``overflow``: With ``outcome.done``: there was a beat that did not fit.
    ``flush``: While high, what comes in is dropped and no burst is begun; the bursts in flight get their data from the
        buffer. Once ``idle`` is high as well, nothing is in flight, and the writer may be reset.
    ``idle``: High while no burst is in flight.
    ``progress``: For a watchdog: high when there is a transfer on the port.
    ``mark``: For a watchdog: notes where the oldest burst in flight began.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        super().__init__(
            {
                "command": In(stream.Signature(shape.command)),
                "input": In(stream.Signature(Beat(shape.word_bits, shape.lanes))),
                **optional(shape.limited, skip=Out(1)),
                "ahead": In(1),
                "end": Out(SPAN_BITS),
                "outcome": Out(shape.outcome),
                "overflow": Out(1),
                "port": Out(shape.write_port),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "mark": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        w = self.port.w
        queues = self._queues()
        for name, queue in queues._asdict().items():
            m.submodules[name] = queue
        counted = self._gather(m, queues)
        beat, sound = self._check(m, queues.bursts.output, coding_of(platform))
        in_flight = Signal(range(self.shape.outstanding + 1))
        ask, taken = self._begin(m, queues, in_flight, beat, sound)
        self._send(m, queues)
        answer = self._retire(m, queues, counted)
        m.d.sync += in_flight.eq(in_flight + ask - answer)
        m.d.comb += [
            self.idle.eq(in_flight == 0),
            self.progress.eq(taken | (w.valid & w.ready) | answer),
        ]
        return m

    def _queues(self) -> _Queues:
        shape = self.shape
        waiting = _Waiting(shape)
        opened = data.StructLayout(
            {name: waiting[name].shape for name in ("beat", "checks", "none", "end", "overflow", "lane")}
        )
        checked = shape.checked_bits(shape.address_bits - shape.blocks.beat_log2)
        in_flight = 1 << (shape.outstanding - 1).bit_length()
        stored = StoredBeat(shape)
        return _Queues(
            store=WriteStore(shape)
            if shape.shifts
            else Fifo(
                stored, shape.buffer, reserved=True, pipelined=shape.pipelined, late_ready=True, of_data=True
            ),
            bursts=Fifo(waiting, _BURSTS, reserved=True, ahead=shape.pipelined, checked=checked),
            lengths=Fifo(data.StructLayout({"len": range(shape.burst), "turn": shape.turn}), 2),
            opened=Fifo(opened, in_flight, checked=checked),
        )

    def _gather(self, m: Module, queues: _Queues) -> Value | None:
        """Puts beats into the store and bursts into their queue, which have a register in between; whether the bytes of the
        oldest packet are known, where they are counted."""
        counted: Value | None = None
        gather: Gather | Scatter = Scatter(self.shape) if self.shape.rows else Gather(self.shape)
        m.submodules.gather = gather
        wiring.connect(m, wiring.flipped(self.command), gather.command)
        m.d.comb += gather.flush.eq(self.flush)
        if isinstance(gather, Scatter):
            counted = self._keep_end(m, gather)
            if self.shape.limited:
                m.d.comb += self.skip.eq(gather.skip)
        else:
            m.d.comb += [gather.ahead.eq(self.ahead), self.end.eq(gather.end)]
        if self.shape.shifts:
            self._realign(m, gather)
        else:
            wiring.connect(m, wiring.flipped(self.input), gather.input)
        store = queues.store.input
        pace = Pace(m, self.shape)
        # What decides about a beat need not be near the block RAM. The burst is in its queue for longer than this.
        stored = pace.early(store.payload, "stored")
        pace.d += [store.valid.eq(gather.store.valid), stored.eq(gather.store.payload)]
        bursts = queues.bursts.input
        m.d.comb += bursts.valid.eq(gather.bursts.valid)
        m.d.comb += copies(bursts.payload, gather.bursts.payload, *Burst(self.shape).members)
        if self.shape.checked:
            address = self.shape.blocks.address(bursts.payload.beat)
            m.d.comb += bursts.payload.checks.eq(address_checks(address, self.shape.checked))
        # Of what goes in, the levels do not count the last two beats, nor the two bursts that may follow from the last one.
        admit = (
            ~queues.store.level[2:-1].all() & ~queues.store.level[-1] & (queues.bursts.level < _BURSTS // 2)
        )
        # Nor, if pipelined, two more beats, with what they end, for the registers on both ways: both queues take them.
        pace.d += gather.admit.eq(admit)
        return counted

    def _keep_end(self, m: Module, scatter: Scatter) -> Value:
        """Keeps the bytes of each packet until that is written; high while it has any."""
        # Each packet in flight has a burst in one of the queues.
        most = self.shape.outstanding + 2 * _BURSTS
        m.submodules.ends = ends = Fifo(SPAN_BITS, 1 << (most - 1).bit_length(), reserved=True)
        m.d.comb += [
            ends.input.valid.eq(scatter.ended),
            ends.input.payload.eq(scatter.end),
            ends.output.ready.eq(self.outcome.done),
            self.end.eq(ends.output.payload),
        ]
        return ends.output.valid

    def _realign(self, m: Module, gather: Gather | Scatter) -> None:
        """Makes beats of memory of those that come in, but for their data, which are moved behind the store."""
        shape, command = self.shape, self.command
        m.submodules.realign = realign = Raise(shape.lanes)
        shift, source = realign.shift, wiring.flipped(self.input)
        moved = stream.Signature(Beat(shape.word_bits, shape.lanes)).create(path=("moved",))
        lane = shape.blocks.lane(command.payload.first, shape.word_bits)
        m.d.comb += [
            realign.input.valid.eq(source.valid),
            source.ready.eq(realign.input.ready),
            moved.valid.eq(realign.output.valid),
            realign.output.ready.eq(moved.ready),
            moved.payload.data.eq(source.payload.data),
            *copies(realign.input.payload, source.payload, "keep", "last"),
            *copies(moved.payload, realign.output.payload, "keep", "last"),
        ]
        if shape.rows:
            self._keep_shifts(m, shift, lane)
        elif shape.pipelined:
            self._know(m, shift, lane)
        else:
            m.d.comb += [shift.payload.eq(lane), shift.valid.eq(command.valid | self.flush)]
        moved = slice_after(m, "moved_slice", moved, kind=BeatSlice, when=shape.pipelined)
        wiring.connect(m, moved, gather.input)

    def _keep_shifts(self, m: Module, shift: stream.Interface, lane: Value) -> None:
        """Keeps the shift of each packet from its first command on, which is cut into bursts long before its data come."""
        command = self.command
        fresh = Signal(init=1)
        m.submodules.shifts = shifts = Fifo(lane.shape(), 2 * CUT, reserved=True)
        with m.If(command.valid & command.ready):
            m.d.sync += fresh.eq(~command.payload.more)
        with m.Elif(command.valid):
            m.d.sync += fresh.eq(0)
        m.d.comb += [
            shifts.input.valid.eq(command.valid & fresh),
            shifts.input.payload.eq(lane),
            shifts.output.ready.eq(shift.ready),
            shift.payload.eq(shifts.output.payload),
            # What is dropped may have any shift.
            shift.valid.eq(shifts.output.valid | self.flush),
        ]

    def _know(self, m: Module, shift: stream.Interface, lane: Value) -> None:
        """The shift of a packet from registers, a cycle after its command: all words follow it, and the command is far."""
        command = self.command
        #: The whole packet has left, and its command has not: the next packet has a shift of its own.
        ahead = Signal()
        known = Signal()
        passed = Signal()
        m.d.comb += [shift.valid.eq(known), passed.eq(shift.valid & shift.ready)]
        with m.If(~known):
            m.d.sync += shift.payload.eq(lane)
        with m.If(passed):
            m.d.sync += ahead.eq(1)
        with m.Elif(command.ready):
            m.d.sync += ahead.eq(0)
        # What is dropped may have any shift.
        m.d.sync += known.eq(self.flush | Mux(known, ~passed, command.valid & ~ahead))

    def _check(
        self, m: Module, waiting: stream.Interface, coding: PlainMemories
    ) -> tuple[Value, Value | int]:
        """The first beat of the burst that comes next, corrected; and whether it is not lost."""
        burst, blocks = waiting.payload, self.shape.blocks
        if not self.shape.checked:
            return burst.beat, 1
        address = whole_address(blocks.address(burst.beat))
        m.submodules.address_check = check = WordCheck(len(address), self.shape.checked)
        corrected, lost, was_lost = (
            Signal(name=f"address_{name}") for name in ("corrected", "lost", "was_lost")
        )
        fails = waiting.valid & check.lost
        m.d.sync += was_lost.eq(fails)
        m.d.comb += [
            check.coded.eq(Cat(address, burst.checks)),
            corrected.eq(waiting.valid & waiting.ready & check.corrected),
            lost.eq(fails & ~was_lost),
        ]
        coding.add(check, corrected, lost, answered=False)
        return check.word[blocks.beat_log2 : self.shape.address_bits], ~check.lost

    def _begin(
        self, m: Module, queues: _Queues, in_flight: Signal, beat: Value, sound: Value | int
    ) -> tuple[Signal, Signal]:
        """Offers one address at a time: a pulse when it does, and one when the address is taken."""
        aw, blocks = self.port.aw, self.shape.blocks
        opened, bursts = queues.opened.input, queues.bursts.output
        following = queues.bursts.output.payload
        able = Signal()
        took = Signal()
        ask = Signal()
        take = Signal()
        taken = Signal()
        turn = Signal(self.shape.turn)
        m.d.comb += [
            # What was taken in the cycle before is not counted yet.
            take.eq(
                queues.bursts.output.valid
                & able
                & ~took
                # No address may wait: when it is taken, the queue must accept its length.
                & ~aw.valid
                & queues.lengths.input.ready
                & ~self.flush
                & sound
            ),
            ask.eq(take & ~following.none),
            taken.eq(aw.valid & aw.ready),
            aw.payload.size.eq(blocks.beat_log2),
            opened.valid.eq(take),
            *copies(opened.payload, following, "beat", "checks"),
            opened.payload.none.eq(following.none),
            opened.payload.end.eq(following.end),
            opened.payload.overflow.eq(following.overflow),
            opened.payload.lane.eq(following.lane),
            # Data wait for their address: a length is here from the cycle after that is taken.
            queues.lengths.input.valid.eq(taken),
            queues.lengths.input.payload.len.eq(aw.payload.len),
            queues.lengths.input.payload.turn.eq(turn),
        ]
        said = [
            turn.eq(following.turn),
            aw.payload.address.eq(blocks.address(beat)),
            aw.payload.len.eq(following.len),
            aw.payload.user.eq(following.user),
        ]
        if self.shape.pipelined:
            # The bus is far from the queue.
            m.d.comb += bursts.ready.eq(take)
            with m.If(~aw.valid):
                m.d.sync += said
        else:
            # The front of the queue is the address itself: it stays until the address has been taken.
            m.d.comb += [bursts.ready.eq(taken | (take & following.none)), *said]
        m.d.sync += [
            able.eq(opened.ready & (in_flight != self.shape.outstanding)),
            took.eq(take),
            aw.valid.eq(ask | (aw.valid & ~aw.ready)),
        ]
        return ask, taken

    def _send(self, m: Module, queues: _Queues) -> None:
        """Sends the data of the bursts whose addresses are taken."""
        w, store, lengths = self.port.w, queues.store.output, queues.lengths.output
        if self.shape.pipelined:
            m.submodules.sending = sending = ElasticBuffer(w.payload.shape())
            wiring.connect(m, sending.output, wiring.flipped(w))
            w = sending.input
        sent = Signal(range(self.shape.burst))
        if isinstance(queues.store, WriteStore):
            m.d.comb += queues.store.turn.eq(lengths.payload.turn)
        m.d.comb += [
            w.valid.eq(lengths.valid & store.valid),
            w.payload.data.eq(store.payload.data),
            w.payload.keep.eq(store.payload.keep),
            w.payload.last.eq(sent == lengths.payload.len),
            store.ready.eq(w.ready & lengths.valid),
            lengths.ready.eq(w.ready & store.valid & w.payload.last),
        ]
        with m.If(w.valid & w.ready):
            m.d.sync += sent.eq(Mux(w.payload.last, 0, sent + 1))

    def _retire(self, m: Module, queues: _Queues, counted: Value | None) -> Signal:
        """Takes the responses, in order, and ends of packets, which need none, once they are ``counted``; gives a pulse for
        a response."""
        b, outcome, blocks = self._responses(m), self.outcome, self.shape.blocks
        opened = queues.opened.output
        oldest = opened.payload
        lane = Cat(C(0, blocks.beat_log2 - len(oldest.lane)), oldest.lane)
        here = opened.valid if counted is None else opened.valid & (~oldest.none | counted)
        answer = Signal()
        retire = Signal()
        well = Signal()
        failed = Signal()
        fault = Signal(Response)
        m.d.comb += [
            b.ready.eq(here & ~oldest.none),
            answer.eq(b.valid & b.ready),
            retire.eq(answer | (here & oldest.none)),
            opened.ready.eq(retire),
            well.eq(fault == Response.OKAY),
            failed.eq(answer & well & b.payload.resp.as_value()[1]),
            outcome.address.eq(Cat(lane, oldest.beat)),
            outcome.note.eq(failed | (retire & well & oldest.overflow) | self.mark),
            outcome.done.eq(retire & oldest.end),
            outcome.resp.eq(Mux(failed, b.payload.resp, fault)),
            self.overflow.eq(oldest.overflow),
        ]
        if self.shape.checked:
            m.d.comb += outcome.checks.eq(oldest.checks ^ address_checks(lane, self.shape.checked))
        with m.If(outcome.done):
            m.d.sync += fault.eq(Response.OKAY)
        with m.Elif(failed):
            m.d.sync += fault.eq(b.payload.resp)
        return answer

    def _responses(self, m: Module) -> stream.Interface:
        """The responses as they come from the port. The bus is far on an FPGA: there they go through registers."""
        b = wiring.flipped(self.port).b
        if not self.shape.pipelined:
            return self.port.b
        m.submodules.responses = responses = SkidBuffer(b.payload.shape())
        wiring.connect(m, b, responses.input)
        return responses.output
