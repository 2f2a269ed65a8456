"""Writes packets of words as AXI4 bursts of exactly the right length, although it is not known in advance."""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.realign import Realign

from .outcome import Outcome
from .ports import Response, WritePort
from .span import SPAN_BITS, Blocks

__all__ = ["AxiWriter", "WriteCommand"]


class WriteCommand(data.StructLayout):
    """Write a packet from ``first`` on, which is aligned to a beat, or to a word if the writer realigns, and nothing
    behind the byte at ``last``, which is at most ``2**33`` bytes away."""

    def __init__(self, address_bits: int) -> None:
        super().__init__({"first": address_bits, "last": address_bits})


class AxiWriter(wiring.Component):
    """Each command takes one packet from ``input`` and gives one ``outcome`` when its last response is there.

    The data of a burst are all in the buffer before its address goes out. A burst ends at a multiple of
    ``burst`` beats (a power of two whose bytes divide 4 KiB) or with the packet; an empty last beat ends a
    packet without adding to it, and a packet without words has no burst at all. Every beat has at least one
    strobe. Data follow their address, in order, and at most ``outstanding`` bursts wait for their response.

    A beat that would go past ``last`` is dropped, and so is the rest of its packet.

    ``realign``
        Packets may begin with any word of a beat: the words are moved there, and no strobe is given to those before.
        Bursts have the addresses of whole beats all the same.

    ``end``
        Where the packet ends, in the cycle in which its command is taken: the lower bits of the address behind
        its last word.
    ``outcome``, ``overflow``
        The address noted is where the first burst that failed began or, if none did, where the first beat that
        did not fit would have gone: with its first word. ``overflow`` says, with ``outcome.done``, that there was
        one.
    ``flush``
        While high, what comes in is dropped and no new burst is begun; those begun get their data from the
        buffer. Once ``idle`` is high as well, nothing is under way, and the writer may be reset.
    ``progress``
        For a watchdog: a transfer happened on the port.
    ``mark``
        For a watchdog: notes where the oldest burst under way began.
    """

    def __init__(
        self,
        *,
        word_bits: int,
        data_bits: int,
        address_bits: int,
        burst: int,
        outstanding: int,
        buffer: int,
        realign: bool = False,
    ) -> None:
        self.word_bits = word_bits
        self.lanes = data_bits // word_bits
        self.blocks = Blocks(address_bits, data_bits // 8, burst)
        self.address_bits = address_bits
        self.burst = burst
        self.outstanding = outstanding
        self.buffer = buffer
        self.realign = realign
        super().__init__(
            {
                "command": In(stream.Signature(WriteCommand(address_bits))),
                "input": In(stream.Signature(Beat(word_bits, self.lanes))),
                "end": Out(SPAN_BITS),
                "outcome": Out(Outcome(address_bits)),
                "overflow": Out(1),
                "port": Out(WritePort(data_bits, address_bits, word_bits)),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "mark": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        blocks = self.blocks
        beat_bits = self.address_bits - blocks.beat_log2
        aw, w, b = self.port.aw, self.port.w, self.port.b

        stored_shape = data.StructLayout({"data": self.lanes * self.word_bits, "keep": self.lanes})
        # A burst, or only the end of a packet (``none``). ``end``: the packet is done after it. ``overflow``: it
        # had more, which would have gone to ``beat``. ``lane``: of the first word, where beats do not say it.
        lane_bits = exact_log2(self.lanes) if self.realign else 0
        burst_shape = data.StructLayout(
            {
                "beat": beat_bits,
                "len": range(self.burst),
                "none": 1,
                "end": 1,
                "overflow": 1,
                "lane": lane_bits,
            }
        )
        open_shape = data.StructLayout(
            {"beat": beat_bits, "none": 1, "end": 1, "overflow": 1, "lane": lane_bits}
        )
        m.submodules.store = store = Fifo(stored_shape, self.buffer)
        m.submodules.bursts = bursts = Fifo(burst_shape, 4)
        m.submodules.lengths = lengths = Fifo(range(self.burst), 2)
        m.submodules.opened = opened = Fifo(open_shape, 1 << (self.outstanding - 1).bit_length())

        self._gather(m, store, bursts)

        # Asking: one address at a time, as soon as its data are there and there is a place to wait for the
        # response.
        next_burst = bursts.output.payload
        under_way = Signal(range(self.outstanding + 1))
        ask = Signal()
        take = Signal()
        taken = Signal()
        m.d.comb += [
            take.eq(
                bursts.output.valid
                & opened.input.ready
                & ~self.flush
                # No address may wait: when it is taken, its length must find room.
                & ~aw.valid
                & (next_burst.none | (lengths.input.ready & (under_way != self.outstanding)))
            ),
            ask.eq(take & ~next_burst.none),
            taken.eq(aw.valid & aw.ready),
            # The front of the queue is the address itself: it stays until the address has been taken.
            bursts.output.ready.eq(taken | (take & next_burst.none)),
            aw.payload.address.eq(blocks.address(next_burst.beat)),
            aw.payload.len.eq(next_burst.len),
            aw.payload.size.eq(blocks.beat_log2),
            opened.input.valid.eq(take),
            opened.input.payload.beat.eq(next_burst.beat),
            opened.input.payload.none.eq(next_burst.none),
            opened.input.payload.end.eq(next_burst.end),
            opened.input.payload.overflow.eq(next_burst.overflow),
            opened.input.payload.lane.eq(next_burst.lane),
        ]
        m.d.sync += aw.valid.eq(ask | (aw.valid & ~aw.ready))

        # Data, behind their address: `lengths` gets an entry when the address has been taken.
        sent = Signal(range(self.burst))
        m.d.comb += [
            lengths.input.valid.eq(taken),
            lengths.input.payload.eq(next_burst.len),
            w.valid.eq(lengths.output.valid & store.output.valid),
            w.payload.data.eq(store.output.payload.data),
            w.payload.keep.eq(store.output.payload.keep),
            w.payload.last.eq(sent == lengths.output.payload),
            store.output.ready.eq(w.ready & lengths.output.valid),
            lengths.output.ready.eq(w.ready & store.output.valid & w.payload.last),
        ]
        with m.If(w.valid & w.ready):
            m.d.sync += sent.eq(Mux(w.payload.last, 0, sent + 1))

        # Responses, in order; the end of a packet without a burst needs none.
        oldest = opened.output.payload
        answer = Signal()
        retire = Signal()
        well = Signal()
        failed = Signal()
        fault = Signal(Response)
        outcome = self.outcome
        m.d.comb += [
            b.ready.eq(opened.output.valid & ~oldest.none),
            answer.eq(b.valid & b.ready),
            retire.eq(answer | (opened.output.valid & oldest.none)),
            opened.output.ready.eq(retire),
            well.eq(fault == Response.OKAY),
            failed.eq(answer & well & b.payload.resp.as_value()[1]),
            outcome.address.eq(Cat(C(0, blocks.beat_log2 - lane_bits), oldest.lane, oldest.beat)),
            outcome.note.eq(failed | (retire & well & oldest.overflow) | self.mark),
            outcome.done.eq(retire & oldest.end),
            outcome.resp.eq(Mux(failed, b.payload.resp, fault)),
            self.overflow.eq(oldest.overflow),
        ]
        with m.If(outcome.done):
            m.d.sync += fault.eq(Response.OKAY)
        with m.Elif(failed):
            m.d.sync += fault.eq(b.payload.resp)
        m.d.sync += under_way.eq(under_way + ask - answer)

        m.d.comb += [
            self.idle.eq(under_way == 0),
            self.progress.eq(taken | (w.valid & w.ready) | answer),
        ]
        return m

    def _gather(self, m: Module, store: Fifo, bursts: Fifo) -> None:
        """Puts beats into ``store`` and counts them up to the end of the block or of the packet."""
        blocks = self.blocks
        word_log2 = exact_log2(self.word_bits // 8)
        first, limit = self.command.payload.first, self.command.payload.last
        source = self.input
        if self.realign:
            m.submodules.realign = realign = Realign(self.word_bits, self.lanes)
            wiring.connect(m, wiring.flipped(self.input), realign.input)
            m.d.comb += [
                realign.shift.payload.eq(blocks.lane(first, self.word_bits)),
                realign.shift.valid.eq(self.command.valid | self.flush),
            ]
            source = realign.output
        beat = source.payload

        # Where the next beat goes, and where the burst began that it belongs to; until there was a first beat,
        # that is what the command says.
        inside = Signal()
        wrapped = Signal()
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

        # ``some``: the burst has a beat. ``shut``: the last beat that fits has come. ``overflow``: and another.
        some = Signal()
        shut = Signal()
        overflow = Signal()
        able = Signal()
        at_limit = Signal()
        misfit = Signal()
        full = Signal()
        spill = Signal()
        accept = Signal()
        store_it = Signal()
        close = Signal()
        push = Signal()
        # Words of a beat that is stored and not full, now and before.
        words = Signal((self.lanes - 1).bit_length())
        held = Signal.like(words)
        reached, present = words | held, beat.keep[0]
        if self.realign:
            # The lanes below a packet's first word are no words of it: what is counted is above them, and they are
            # where a packet ends of which nothing is stored.
            reached, present = words ^ Mux(inside, held, blocks.lane(first, self.word_bits)), beat.keep.any()
            lane = Signal.like(words)
            lane_begun = Signal.like(words)
            m.d.comb += [
                lane.eq(Mux(inside, lane_begun, blocks.lane(first, self.word_bits))),
                bursts.input.payload.lane.eq(lane),
            ]
            m.d.sync += lane_begun.eq(Mux(push, 0, lane))
        # The first lane whose word does not fit into the beat at the limit.
        beyond = limit[word_log2 : blocks.beat_log2] + limit[:word_log2].all()
        is_beyond = Cat(beyond == lane for lane in range(self.lanes))
        m.d.comb += [
            at_limit.eq((block == blocks.block(limit)) & (place == blocks.place(limit))),
            misfit.eq(present & (shut | (at_limit & (beat.keep & is_beyond).any()))),
            store_it.eq(present & ~misfit),
            full.eq(place.all()),
            able.eq(source.valid & self.command.valid & store.input.ready & bursts.input.ready & ~self.flush),
            # Before the first beat that is dropped, what is there is closed; so the end can say where the
            # beat would have gone.
            spill.eq(able & misfit & ~overflow),
            accept.eq(able & (~misfit | overflow)),
            close.eq(beat.last | (store_it & full)),
            push.eq((accept & close) | (spill & some)),
            source.ready.eq(accept | self.flush),
            self.command.ready.eq(accept & beat.last),
            store.input.valid.eq(accept & store_it),
            store.input.payload.data.eq(beat.data),
            store.input.payload.keep.eq(beat.keep),
            bursts.input.valid.eq(push),
            bursts.input.payload.beat.eq(blocks.beat(first, limit, wrapped, block, begin)),
            bursts.input.payload.len.eq(place - begin - ~(store_it | held.any())),
            bursts.input.payload.none.eq(~(some | store_it)),
            bursts.input.payload.end.eq(accept & beat.last),
            bursts.input.payload.overflow.eq(overflow),
        ]

        # Only the last beat with words is not full. It does not count as a place: so the place behind the last word
        # is this one, and as many words as it has.
        step = Signal()
        place_next = Signal(blocks.place_bits)
        block_next = Signal(blocks.block_bits + 1)
        m.d.comb += [
            step.eq(accept & store_it & beat.keep[-1]),
            place_next.eq(place + step),
            block_next.eq(block + (step & full)),
            # Lanes are filled from the first: the number of words, whose bit n says whether an odd multiple
            # of 2**n was reached. A full beat counts as none, because the place behind it is the next beat's.
            words.eq(
                Cat(
                    store_it
                    & Cat(beat.keep[lane] for lane in range((1 << bit) - 1, self.lanes, 1 << bit)).xor()
                    for bit in range(len(words))
                )
            ),
            self.end.eq(Cat(C(0, word_log2), reached, place_next, block_next)),
        ]
        m.d.sync += [
            counted.eq(block_next),
            place_counted.eq(place_next),
            begun.eq(Mux(push, place_next, begin)),
        ]
        with m.If(push):
            m.d.sync += some.eq(0)
        with m.Elif(accept & store_it):
            m.d.sync += some.eq(1)
        with m.If(accept & beat.last):
            m.d.sync += [inside.eq(0), wrapped.eq(0), shut.eq(0), overflow.eq(0), held.eq(0)]
        with m.Elif(accept | spill):
            m.d.sync += [
                held.eq(reached),
                inside.eq(1),
                wrapped.eq(wrapped | block_next[-1]),
                shut.eq(shut | spill | (store_it & at_limit)),
                overflow.eq(overflow | spill),
            ]
