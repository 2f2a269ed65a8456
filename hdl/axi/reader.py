"""Turns read commands into legal AXI4 bursts, and what comes back into packets of words."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.realign import Realign

from .outcome import Outcome
from .ports import ReadPort, Response
from .span import Blocks

__all__ = ["AxiReader", "ReadCommand"]


class ReadCommand(data.StructLayout):
    """Read the bytes from ``first``, which is aligned to a beat, or to a word if the reader realigns, to ``last``, both
    included: whole words, at most ``2**33`` bytes."""

    def __init__(self, address_bits: int) -> None:
        super().__init__({"first": address_bits, "last": address_bits})


class AxiReader(wiring.Component):
    """Each command becomes one packet at ``output`` and one ``outcome``.

    Bursts have at most ``burst`` beats, a power of two whose bytes divide 4 KiB, and never cross a multiple
    of that length; so they never cross 4 KiB. The buffer is handed out in parts of one burst, however short
    the burst is, and a burst is asked for only when it has got a part, so the read port never has to wait for
    what comes after it; and only when fewer than ``outstanding`` are under way.

    A command is taken with the address of its last burst. A response that is not OKAY does not stop it: its
    data, right or wrong, still come.

    ``realign``
        Commands may begin with any word. Whole beats are read all the same.
    ``flush``
        While high, no new burst is asked for, and data that come are dropped. Once ``idle`` is high as well,
        nothing is under way, and the reader may be reset.
    ``progress``
        For a watchdog: a transfer happened on the port.
    ``mark``
        For a watchdog: notes the address that the next beat of data will be from.
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
                "command": In(stream.Signature(ReadCommand(address_bits))),
                "output": Out(stream.Signature(Beat(word_bits, self.lanes))),
                "outcome": Out(Outcome(address_bits)),
                "port": Out(ReadPort(data_bits, address_bits)),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "mark": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        blocks = self.blocks
        word_log2 = exact_log2(self.word_bits // 8)
        words_bits = max(1, (self.lanes - 1).bit_length())
        ar, r = self.port.ar, self.port.r
        parts = self.buffer // self.burst
        most = min(parts, self.outstanding)

        # What the side that receives must know of a burst: where it begins, whether the packet ends with it, and
        # the words of its last beat less one.
        opened_shape = data.StructLayout(
            {"beat": self.address_bits - blocks.beat_log2, "final": 1, "words": words_bits}
        )
        m.submodules.opened = opened = Fifo(opened_shape, 1 << (most - 1).bit_length(), reserved=True)

        # Asking. The address is what the command and the count of blocks say, without a register of its own:
        # neither moves before the address has been taken.
        first, last = self.command.payload.first, self.command.payload.last
        inside = Signal()
        wrapped = Signal()
        counted = Signal(blocks.block_bits)
        block = Signal.like(counted)
        following = Signal(blocks.block_bits + 1)
        start = Signal(blocks.place_bits)
        final = Signal()
        free = Signal(range(parts + 1), init=parts)
        room = free != 0
        ask = Signal()
        taken = Signal()
        freed = Signal()
        received = Signal()
        m.d.comb += [
            block.eq(Mux(inside, counted, blocks.block(first))),
            start.eq(Mux(inside, 0, blocks.place(first))),
            final.eq(block == blocks.block(last)),
            ar.payload.address.eq(blocks.address(opened.input.payload.beat)),
            # Never below 0, so the difference's sign is left out.
            ar.payload.len.eq((Mux(final, blocks.place(last), self.burst - 1) - start)[: blocks.place_bits]),
            ar.payload.size.eq(blocks.beat_log2),
            taken.eq(ar.valid & ar.ready),
            following.eq(block + taken),
            self.command.ready.eq(taken & final),
            opened.input.valid.eq(ask),
            opened.input.payload.beat.eq(blocks.beat(first, last, wrapped, block, start)),
            opened.input.payload.final.eq(final),
            opened.input.payload.words.eq(Mux(final, last[word_log2:], self.lanes - 1)),
        ]
        if self.outstanding < parts:
            under_way = Signal(range(self.outstanding + 1))
            m.d.sync += under_way.eq(under_way + ask - received)
            room &= under_way != self.outstanding
        shifts = None
        if self.realign:
            # For the other end of the buffer: which word of its first beat a packet begins with.
            m.submodules.shifts = shifts = Fifo(exact_log2(self.lanes), parts)
            room &= shifts.input.ready
            m.d.comb += [
                shifts.input.valid.eq(ask & ~inside),
                shifts.input.payload.eq(blocks.lane(first, self.word_bits)),
            ]
        m.d.comb += ask.eq(self.command.valid & ~ar.valid & room & ~self.flush)
        m.d.sync += [
            ar.valid.eq(ask | (ar.valid & ~ar.ready)),
            counted.eq(following),
            free.eq(free - ask + freed),
        ]
        with m.If(taken):
            m.d.sync += [inside.eq(~final), wrapped.eq((wrapped | following[-1]) & ~final)]

        # Receiving: the front of `opened` is the burst whose data come now.
        stored_shape = data.StructLayout(
            {"data": self.lanes * self.word_bits, "words": words_bits, "last": 1, "part": 1}
        )
        m.submodules.store = store = Fifo(stored_shape, self.buffer, reserved=True)
        front = opened.output.payload
        place = Signal(blocks.place_bits)
        fault = Signal(Response)
        receive = Signal()
        first_fault = Signal()
        outcome = self.outcome
        m.d.comb += [
            r.ready.eq(opened.output.valid),
            receive.eq(r.valid & r.ready),
            received.eq(receive & r.payload.last),
            opened.output.ready.eq(received),
            first_fault.eq(receive & (fault == Response.OKAY) & r.payload.resp.as_value()[1]),
            store.input.valid.eq(receive & ~self.flush),
            store.input.payload.data.eq(r.payload.data),
            store.input.payload.part.eq(r.payload.last),
            store.input.payload.last.eq(r.payload.last & front.final),
            store.input.payload.words.eq(Mux(r.payload.last, front.words, self.lanes - 1)),
            outcome.address.eq(
                blocks.address(
                    # Within its block a burst only counts up.
                    Cat((front.beat[: len(place)] + place)[: len(place)], front.beat[len(place) :])
                )
            ),
            outcome.note.eq(first_fault | self.mark),
            outcome.done.eq(received & front.final),
            outcome.resp.eq(Mux(first_fault, r.payload.resp, fault)),
        ]
        with m.If(receive):
            m.d.sync += place.eq(Mux(r.payload.last, 0, place + 1))
            with m.If(outcome.done):
                m.d.sync += fault.eq(Response.OKAY)
            with m.Elif(first_fault):
                m.d.sync += fault.eq(r.payload.resp)

        # What comes out of the buffer, with the lanes in which it was read.
        output, out = self.output, store.output.payload
        if shifts is not None:
            m.submodules.realign = realign = Realign(self.word_bits, self.lanes, down=True)
            wiring.connect(m, shifts.output, realign.shift)
            wiring.connect(m, realign.output, wiring.flipped(self.output))
            output = realign.input
        m.d.comb += [
            output.valid.eq(store.output.valid),
            store.output.ready.eq(output.ready),
            output.payload.data.eq(out.data),
            output.payload.last.eq(out.last),
            output.payload.keep.eq(Cat(out.words >= lane for lane in range(self.lanes))),
            freed.eq(store.output.valid & store.output.ready & out.part),
            self.idle.eq(opened.empty),
            self.progress.eq(taken | receive),
        ]
        return m
