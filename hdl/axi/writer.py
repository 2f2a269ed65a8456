"""Writes packets of words as AXI4 bursts of exactly the right length, although it is not known in advance."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.realign import Realign

from .command import Command
from .outcome import Outcome
from .port_shape import PortShape
from .ports import Response, WritePort
from .span import SPAN_BITS

__all__ = ["AxiWriter"]


class _Queues(NamedTuple):
    """The queues between the parts of the writer.

    ``store``
        Beats with words.
    ``bursts``
        Bursts whose beats are all in the store, or ends of packets without one.
    ``lengths``
        Beats less one of the bursts whose address is taken.
    ``opened``
        Bursts that wait for their response.
    """

    store: Fifo
    bursts: Fifo
    lengths: Fifo
    opened: Fifo


class _Position(NamedTuple):
    """Where the next beat goes, and where the burst began that it belongs to.

    ``inside``
        There was a beat of the packet. Until then, the other values are those of the command.
    ``block``, ``place``
        Number of the block, and of the beat in it.
    ``begin``
        Number of the beat in the block with which the burst began.
    ``counted``, ``place_counted``, ``begun``
        Registers of these three.
    """

    inside: Signal
    block: Signal
    place: Signal
    begin: Signal
    counted: Signal
    place_counted: Signal
    begun: Signal


class _Words(NamedTuple):
    """Words of the beat in which the packet is.

    ``count``
        Words of a beat that is stored and not full.
    ``held``
        The same of the beats before.
    ``reached``
        The lane after the packet's last word.
    ``present``
        The beat at the input has words.
    """

    count: Signal
    held: Signal
    reached: Value
    present: Value


class _Flags(NamedTuple):
    """What is kept of a packet.

    ``some``
        The burst has a beat.
    ``shut``, ``overflow``
        The last beat that fits has come; and another one.
    ``wrapped``
        The count of blocks has passed zero.
    """

    some: Signal
    shut: Signal
    overflow: Signal
    wrapped: Signal


class _Step(NamedTuple):
    """What is done with the beat at the input.

    ``accept``
        It is taken.
    ``spill``
        It is the first one that does not fit. It waits while the burst before it is closed.
    ``store_it``
        It has words, and they fit.
    ``full``
        It is the last one of its block.
    ``at_limit``
        It is the last one that fits.
    ``push``
        A burst, or the end of a packet, is closed.
    """

    accept: Signal
    spill: Signal
    store_it: Signal
    full: Signal
    at_limit: Signal
    push: Signal


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

    ``end``
        Where the packet ends, in the cycle in which its command is taken: the lower bits of the address after its
        last word.
    ``outcome``
        Notes the address where the first burst that failed began. If none failed, it is the address of the first beat
        that did not fit, with its first word.
    ``overflow``
        With ``outcome.done``: there was a beat that did not fit.
    ``flush``
        While high, what comes in is dropped and no burst is begun; the bursts in flight get their data from the
        buffer. Once ``idle`` is high as well, nothing is in flight, and the writer may be reset.
    ``idle``
        High while no burst is in flight.
    ``progress``
        For a watchdog: high when there is a transfer on the port.
    ``mark``
        For a watchdog: notes where the oldest burst in flight began.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        super().__init__(
            {
                "command": In(stream.Signature(Command(shape.address_bits))),
                "input": In(stream.Signature(Beat(shape.word_bits, shape.lanes))),
                "end": Out(SPAN_BITS),
                "outcome": Out(Outcome(shape.address_bits)),
                "overflow": Out(1),
                "port": Out(WritePort(shape.data_bits, shape.address_bits, shape.word_bits)),
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
        self._gather(m, queues)
        under_way = Signal(range(self.shape.outstanding + 1))
        ask, taken = self._begin(m, queues, under_way)
        self._send(m, queues)
        answer = self._retire(m, queues)
        m.d.sync += under_way.eq(under_way + ask - answer)
        m.d.comb += [
            self.idle.eq(under_way == 0),
            self.progress.eq(taken | (w.valid & w.ready) | answer),
        ]
        return m

    def _queues(self) -> _Queues:
        shape = self.shape
        beat_bits = shape.address_bits - shape.blocks.beat_log2
        # ``none``: no burst, only the end of a packet. ``end``: the packet is done after it. ``overflow``: it had
        # more, which would have gone to ``beat``. ``lane``: of the first word, where beats do not say it.
        lane_bits = exact_log2(shape.lanes) if shape.realign else 0
        flags = {"none": 1, "end": 1, "overflow": 1, "lane": lane_bits}
        return _Queues(
            store=Fifo(data.StructLayout({"data": shape.data_bits, "keep": shape.lanes}), shape.buffer),
            bursts=Fifo(data.StructLayout({"beat": beat_bits, "len": range(shape.burst), **flags}), 4),
            lengths=Fifo(range(shape.burst), 2),
            opened=Fifo(
                data.StructLayout({"beat": beat_bits, **flags}), 1 << (shape.outstanding - 1).bit_length()
            ),
        )

    def _begin(self, m: Module, queues: _Queues, under_way: Signal) -> tuple[Signal, Signal]:
        """Offers one address at a time: a pulse when it does, and one when the address is taken."""
        aw, blocks = self.port.aw, self.shape.blocks
        opened = queues.opened.input
        following = queues.bursts.output.payload
        ask = Signal()
        take = Signal()
        taken = Signal()
        m.d.comb += [
            take.eq(
                queues.bursts.output.valid
                & opened.ready
                & ~self.flush
                # No address may wait: when it is taken, the queue must accept its length.
                & ~aw.valid
                & (following.none | (queues.lengths.input.ready & (under_way != self.shape.outstanding)))
            ),
            ask.eq(take & ~following.none),
            taken.eq(aw.valid & aw.ready),
            # The front of the queue is the address itself: it stays until the address has been taken.
            queues.bursts.output.ready.eq(taken | (take & following.none)),
            aw.payload.address.eq(blocks.address(following.beat)),
            aw.payload.len.eq(following.len),
            aw.payload.size.eq(blocks.beat_log2),
            opened.valid.eq(take),
            opened.payload.beat.eq(following.beat),
            opened.payload.none.eq(following.none),
            opened.payload.end.eq(following.end),
            opened.payload.overflow.eq(following.overflow),
            opened.payload.lane.eq(following.lane),
        ]
        m.d.sync += aw.valid.eq(ask | (aw.valid & ~aw.ready))
        m.d.comb += [
            # Data wait for their address: a length is here from the cycle after that is taken.
            queues.lengths.input.valid.eq(taken),
            queues.lengths.input.payload.eq(following.len),
        ]
        return ask, taken

    def _send(self, m: Module, queues: _Queues) -> None:
        """Sends the data of the bursts whose addresses are taken."""
        w, store, lengths = self.port.w, queues.store.output, queues.lengths.output
        sent = Signal(range(self.shape.burst))
        m.d.comb += [
            w.valid.eq(lengths.valid & store.valid),
            w.payload.data.eq(store.payload.data),
            w.payload.keep.eq(store.payload.keep),
            w.payload.last.eq(sent == lengths.payload),
            store.ready.eq(w.ready & lengths.valid),
            lengths.ready.eq(w.ready & store.valid & w.payload.last),
        ]
        with m.If(w.valid & w.ready):
            m.d.sync += sent.eq(Mux(w.payload.last, 0, sent + 1))

    def _retire(self, m: Module, queues: _Queues) -> Signal:
        """Takes the responses, in order, and ends of packets, which need none; gives a pulse for a response."""
        b, outcome, blocks = self.port.b, self.outcome, self.shape.blocks
        opened = queues.opened.output
        oldest = opened.payload
        answer = Signal()
        retire = Signal()
        well = Signal()
        failed = Signal()
        fault = Signal(Response)
        m.d.comb += [
            b.ready.eq(opened.valid & ~oldest.none),
            answer.eq(b.valid & b.ready),
            retire.eq(answer | (opened.valid & oldest.none)),
            opened.ready.eq(retire),
            well.eq(fault == Response.OKAY),
            failed.eq(answer & well & b.payload.resp.as_value()[1]),
            outcome.address.eq(Cat(C(0, blocks.beat_log2 - len(oldest.lane)), oldest.lane, oldest.beat)),
            outcome.note.eq(failed | (retire & well & oldest.overflow) | self.mark),
            outcome.done.eq(retire & oldest.end),
            outcome.resp.eq(Mux(failed, b.payload.resp, fault)),
            self.overflow.eq(oldest.overflow),
        ]
        with m.If(outcome.done):
            m.d.sync += fault.eq(Response.OKAY)
        with m.Elif(failed):
            m.d.sync += fault.eq(b.payload.resp)
        return answer

    def _source(self, m: Module) -> stream.Interface:
        """The input, with its words in the lanes where they are written."""
        if not self.shape.realign:
            return self.input
        m.submodules.realign = realign = Realign(self.shape.word_bits, self.shape.lanes)
        wiring.connect(m, wiring.flipped(self.input), realign.input)
        m.d.comb += [
            realign.shift.payload.eq(
                self.shape.blocks.lane(self.command.payload.first, self.shape.word_bits)
            ),
            realign.shift.valid.eq(self.command.valid | self.flush),
        ]
        return realign.output

    def _position(self, m: Module) -> _Position:
        blocks, first = self.shape.blocks, self.command.payload.first
        inside = Signal()
        counted = Signal(blocks.block_bits)
        place_counted = Signal(blocks.place_bits)
        begun = Signal(blocks.place_bits)
        block = Signal.like(counted)
        place = Signal.like(place_counted)
        begin = Signal.like(begun)
        m.d.comb += [
            block.eq(Mux(inside, counted, blocks.block(first))),
            place.eq(Mux(inside, place_counted, blocks.place(first))),
            begin.eq(Mux(inside, begun, blocks.place(first))),
        ]
        return _Position(inside, block, place, begin, counted, place_counted, begun)

    def _gather(self, m: Module, queues: _Queues) -> None:
        """Puts beats into the store, and counts them up to the end of the block or of the packet."""
        blocks = self.shape.blocks
        first, limit = self.command.payload.first, self.command.payload.last
        store, bursts = queues.store.input, queues.bursts.input
        source = self._source(m)
        beat = source.payload
        position = self._position(m)
        flags = _Flags(*(Signal(name=name) for name in _Flags._fields))
        step = _Step(*(Signal(name=name) for name in _Step._fields))
        accept, spill, store_it, full, at_limit, push = step
        words = self._words(m, beat, position, bursts, push)
        able = Signal()
        misfit = Signal()
        close = Signal()
        m.d.comb += [
            at_limit.eq((position.block == blocks.block(limit)) & (position.place == blocks.place(limit))),
            misfit.eq(words.present & (flags.shut | (at_limit & (beat.keep & self._is_beyond(limit)).any()))),
            store_it.eq(words.present & ~misfit),
            full.eq(position.place.all()),
            able.eq(source.valid & self.command.valid & store.ready & bursts.ready & ~self.flush),
            # What is stored is closed before the first beat that is dropped, so that the end can say where that beat
            # would have gone.
            spill.eq(able & misfit & ~flags.overflow),
            accept.eq(able & (~misfit | flags.overflow)),
            close.eq(beat.last | (store_it & full)),
            push.eq((accept & close) | (spill & flags.some)),
            source.ready.eq(accept | self.flush),
            self.command.ready.eq(accept & beat.last),
            store.valid.eq(accept & store_it),
            store.payload.data.eq(beat.data),
            store.payload.keep.eq(beat.keep),
            bursts.valid.eq(push),
            bursts.payload.beat.eq(blocks.beat(first, limit, flags.wrapped, position.block, position.begin)),
            bursts.payload.len.eq(position.place - position.begin - ~(store_it | words.held.any())),
            bursts.payload.none.eq(~(flags.some | store_it)),
            bursts.payload.end.eq(accept & beat.last),
            bursts.payload.overflow.eq(flags.overflow),
        ]
        self._advance(m, position, words, beat, flags, step)

    def _is_beyond(self, limit: Value) -> Value:
        """The lane whose word is the first that does not fit into the beat at the limit, one bit each."""
        word_log2 = self.shape.word_log2
        beyond = limit[word_log2 : self.shape.blocks.beat_log2] + limit[:word_log2].all()
        return Cat(beyond == lane for lane in range(self.shape.lanes))

    def _words(
        self, m: Module, beat: data.View, position: _Position, bursts: stream.Interface, push: Signal
    ) -> _Words:
        """Where the packet is in its beat; a writer that realigns tells ``bursts`` the first word's lane."""
        shape = self.shape
        words = Signal((shape.lanes - 1).bit_length())
        held = Signal.like(words)
        if not shape.realign:
            return _Words(words, held, words | held, beat.keep[0])
        # The lanes below a packet's first word are no words of it. What is counted is above them, and they are where
        # a packet ends of which nothing is stored.
        start = shape.blocks.lane(self.command.payload.first, shape.word_bits)
        reached = words ^ Mux(position.inside, held, start)
        lane = Signal.like(words)
        lane_begun = Signal.like(words)
        m.d.comb += [lane.eq(Mux(position.inside, lane_begun, start)), bursts.payload.lane.eq(lane)]
        m.d.sync += lane_begun.eq(Mux(push, 0, lane))
        return _Words(words, held, reached, beat.keep.any())

    def _advance(
        self, m: Module, position: _Position, words: _Words, beat: data.View, flags: _Flags, step: _Step
    ) -> None:
        """Goes on to the position after this beat, where the packet ends if this is its last beat.

        Only the last beat with words is not full, and it does not count: so the position after the last word is this
        beat, and as many words as it has.
        """
        shape, blocks = self.shape, self.shape.blocks
        place_next = Signal(blocks.place_bits)
        block_next = Signal(blocks.block_bits + 1)
        whole = Signal(name="step")
        m.d.comb += [
            whole.eq(step.accept & step.store_it & beat.keep[-1]),
            place_next.eq(position.place + whole),
            block_next.eq(position.block + (whole & step.full)),
            # Lanes are filled from the first: the number of words, whose bit n says whether an odd multiple of 2**n
            # was reached. A full beat counts as none, because the position after it is the next beat's.
            words.count.eq(
                Cat(
                    step.store_it
                    & Cat(beat.keep[lane] for lane in range((1 << bit) - 1, shape.lanes, 1 << bit)).xor()
                    for bit in range(len(words.count))
                )
            ),
            self.end.eq(Cat(C(0, shape.word_log2), words.reached, place_next, block_next)),
        ]
        m.d.sync += [
            position.counted.eq(block_next),
            position.place_counted.eq(place_next),
            position.begun.eq(Mux(step.push, place_next, position.begin)),
        ]
        with m.If(step.push):
            m.d.sync += flags.some.eq(0)
        with m.Elif(step.accept & step.store_it):
            m.d.sync += flags.some.eq(1)
        with m.If(step.accept & beat.last):
            m.d.sync += position.inside.eq(0)
            m.d.sync += [flags.wrapped.eq(0), flags.shut.eq(0), flags.overflow.eq(0), words.held.eq(0)]
        with m.Elif(step.accept | step.spill):
            m.d.sync += [
                words.held.eq(words.reached),
                position.inside.eq(1),
                flags.wrapped.eq(flags.wrapped | block_next[-1]),
                flags.shut.eq(flags.shut | step.spill | (step.store_it & step.at_limit)),
                flags.overflow.eq(flags.overflow | step.spill),
            ]
