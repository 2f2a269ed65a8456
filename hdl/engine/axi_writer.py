"""Writes packets of words as AXI4 bursts of exactly the right length, although it is not known in advance."""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..streams import Beat
from .axi import Response, WritePort
from .fifo import Fifo
from .records import LENGTH_BITS

__all__ = ["AxiWriter", "WriteCommand", "WriteStatus"]


class WriteCommand(data.StructLayout):
    """Write a packet from ``address`` on, which is aligned to a beat, and at most ``capacity`` bytes."""

    def __init__(self, address_bits: int) -> None:
        super().__init__({"address": address_bits, "capacity": LENGTH_BITS})


class WriteStatus(data.StructLayout):
    """``bytes`` were written; ``overflow``: the packet had more.

    ``resp`` is the first response that was not OKAY. ``address`` is where that burst began or, if all
    responses were OKAY, where the first beat that did not fit would have gone."""

    def __init__(self, address_bits: int) -> None:
        super().__init__({"bytes": LENGTH_BITS, "overflow": 1, "resp": Response, "address": address_bits})


class AxiWriter(wiring.Component):
    """Each command takes one packet from ``input`` and gives one ``status`` when its last response is there.

    The data of a burst are all in the buffer before its address goes out. A burst ends at a multiple of
    ``burst`` beats (a power of two whose bytes divide 4 KiB) or with the packet; an empty last beat ends a
    packet without adding to it, and a packet without words has no burst at all. Every beat has at least one
    strobe. Data follow their address, in order, and at most ``outstanding`` bursts wait for their response.

    A beat that would go past the capacity is dropped, and so is the rest of its packet.

    ``flush``
        While high, what comes in is dropped and no new burst is begun; those begun get their data from the
        buffer. Once ``idle`` is high as well, nothing is under way, and the writer may be reset.
    ``progress``, ``oldest``
        For a watchdog: a transfer happened on the port; where the oldest burst under way began.
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
        commands: int,
    ) -> None:
        self.word_bits = word_bits
        self.lanes = data_bits // word_bits
        self.beat_bytes = data_bits // 8
        self.address_bits = address_bits
        self.burst = burst
        self.outstanding = outstanding
        self.buffer = buffer
        self.commands = commands
        super().__init__(
            {
                "command": In(stream.Signature(WriteCommand(address_bits))),
                "input": In(stream.Signature(Beat(word_bits, self.lanes))),
                "status": Out(stream.Signature(WriteStatus(address_bits))),
                "port": Out(WritePort(data_bits, address_bits, word_bits)),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "oldest": Out(address_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat_log2 = self.beat_bytes.bit_length() - 1
        block_log2 = (self.burst - 1).bit_length()
        word_bytes = self.word_bits // 8
        aw, w, b = self.port.aw, self.port.w, self.port.b

        stored_shape = data.StructLayout(
            {"data": self.lanes * self.word_bits, "words": max(1, (self.lanes - 1).bit_length())}
        )
        # A burst, or only the end of a packet (``none``); ``end``: the packet's status comes after it.
        burst_shape = data.StructLayout(
            {"beat": self.address_bits - beat_log2, "len": range(self.burst), "none": 1, "end": 1}
        )
        end_shape = data.StructLayout({"bytes": LENGTH_BITS, "overflow": 1, "address": self.address_bits})
        open_shape = data.StructLayout({"beat": self.address_bits - beat_log2, "none": 1, "end": 1})
        open_depth = 1 << (self.outstanding - 1).bit_length()
        m.submodules.store = store = Fifo(stored_shape, self.buffer)
        m.submodules.bursts = bursts = Fifo(burst_shape, 4)
        m.submodules.ends = ends = Fifo(end_shape, self.commands)
        m.submodules.lengths = lengths = Fifo(range(self.burst), 2)
        m.submodules.opened = opened = Fifo(open_shape, open_depth)

        # Gathering: counts beats up to the end of the block or of the packet.
        command, beat = self.command.payload, self.input.payload
        used = Signal(LENGTH_BITS)
        gathered = Signal(range(self.burst))
        block_beat = Signal(self.address_bits - beat_log2)
        full = Signal()
        inside = Signal()
        begin = Signal.like(block_beat)
        stop = Signal(range(self.burst))
        words = Signal(range(self.lanes + 1))
        after = Signal(LENGTH_BITS + 1)
        accept, fits, store_it, close, overflow = Signal(), Signal(), Signal(), Signal(), Signal()
        some = Signal()
        m.d.comb += [
            words.eq(sum(beat.keep[lane] for lane in range(self.lanes))),
            after.eq(used + (words << (word_bytes.bit_length() - 1))),
            fits.eq(~full & (after <= command.capacity)),
            overflow.eq(full | ~fits),
            begin.eq(Mux(inside, block_beat, command.address[beat_log2:])),
            # The last place of this block: bursts that begin at a block's edge have all of it.
            stop.eq(~begin[:block_log2]),
            store_it.eq(fits & (words != 0)),
            some.eq(store_it | (gathered != 0)),
            close.eq(beat.last | (store_it & (gathered == stop))),
            accept.eq(
                self.input.valid
                & self.command.valid
                & store.input.ready
                & bursts.input.ready
                & ends.input.ready
                & ~self.flush
            ),
            self.input.ready.eq(accept | self.flush),
            self.command.ready.eq(accept & beat.last),
            store.input.valid.eq(accept & store_it),
            store.input.payload.data.eq(beat.data),
            store.input.payload.words.eq(words - 1),
            bursts.input.valid.eq(accept & close),
            bursts.input.payload.beat.eq(begin),
            bursts.input.payload.len.eq(gathered - ~store_it),
            bursts.input.payload.none.eq(~some),
            bursts.input.payload.end.eq(beat.last),
            ends.input.valid.eq(accept & beat.last),
            ends.input.payload.bytes.eq(Mux(store_it, after, used)),
            ends.input.payload.overflow.eq(overflow),
            ends.input.payload.address.eq(command.address + used),
        ]
        with m.If(accept):
            m.d.sync += [
                used.eq(Mux(beat.last, 0, Mux(store_it, after, used))),
                full.eq(overflow & ~beat.last),
                gathered.eq(Mux(close, 0, gathered + store_it)),
                inside.eq((inside | store_it) & ~beat.last),
            ]
            with m.If(close):
                m.d.sync += block_beat.eq(Cat(C(0, block_log2), begin[block_log2:] + 1))
            with m.Elif(store_it):
                m.d.sync += block_beat.eq(begin)

        # Asking: one address at a time, as soon as its data are there and there is a place to wait for the
        # response.
        next_burst = bursts.output.payload
        under_way = Signal(range(self.outstanding + 1))
        ask = Signal()
        take = Signal()
        m.d.comb += [
            take.eq(
                bursts.output.valid
                & opened.input.ready
                & ~self.flush
                & (
                    next_burst.none
                    # No address may wait: when it is taken, its length must find room.
                    | (~aw.valid & lengths.input.ready & (under_way != self.outstanding))
                )
            ),
            ask.eq(take & ~next_burst.none),
            bursts.output.ready.eq(take),
            opened.input.valid.eq(take),
            opened.input.payload.beat.eq(next_burst.beat),
            opened.input.payload.none.eq(next_burst.none),
            opened.input.payload.end.eq(next_burst.end),
            aw.payload.size.eq(beat_log2),
        ]
        with m.If(ask):
            m.d.sync += [
                aw.valid.eq(1),
                aw.payload.address.eq(Cat(C(0, beat_log2), next_burst.beat)),
                aw.payload.len.eq(next_burst.len),
            ]
        with m.Elif(aw.ready):
            m.d.sync += aw.valid.eq(0)

        # Data, behind their address: `lengths` gets an entry when the address has been taken.
        sent = Signal(range(self.burst))
        m.d.comb += [
            lengths.input.valid.eq(aw.valid & aw.ready),
            lengths.input.payload.eq(aw.payload.len),
            w.valid.eq(lengths.output.valid & store.output.valid),
            w.payload.data.eq(store.output.payload.data),
            w.payload.keep.eq(Cat(store.output.payload.words >= lane for lane in range(self.lanes))),
            w.payload.last.eq(sent == lengths.output.payload),
            store.output.ready.eq(w.ready & lengths.output.valid),
            lengths.output.ready.eq(w.ready & store.output.valid & w.payload.last),
        ]
        with m.If(w.valid & w.ready):
            m.d.sync += sent.eq(Mux(w.payload.last, 0, sent + 1))

        # Responses, in order; the end of a packet without a burst needs none.
        m.submodules.statuses = statuses = Fifo(WriteStatus(self.address_bits), self.commands)
        oldest, end = opened.output.payload, ends.output.payload
        may_end = Signal()
        answer, retire = Signal(), Signal()
        fault = Signal(Response)
        fault_address = Signal(self.address_bits)
        first_fault = Signal()
        here = Signal(self.address_bits)
        resp = Signal(Response)
        status = statuses.input.payload
        m.d.comb += [
            may_end.eq(~oldest.end | (ends.output.valid & statuses.input.ready)),
            b.ready.eq(opened.output.valid & ~oldest.none & may_end),
            answer.eq(b.valid & b.ready),
            retire.eq(answer | (opened.output.valid & oldest.none & may_end)),
            opened.output.ready.eq(retire),
            ends.output.ready.eq(retire & oldest.end),
            statuses.input.valid.eq(retire & oldest.end),
            here.eq(Cat(C(0, beat_log2), oldest.beat)),
            first_fault.eq(answer & (fault == Response.OKAY) & b.payload.resp.as_value()[1]),
            resp.eq(Mux(first_fault, b.payload.resp, fault)),
            status.bytes.eq(end.bytes),
            status.overflow.eq(end.overflow),
            status.resp.eq(resp),
            status.address.eq(
                Mux(first_fault, here, Mux(fault == Response.OKAY, end.address, fault_address))
            ),
        ]
        with m.If(retire):
            with m.If(oldest.end):
                m.d.sync += fault.eq(Response.OKAY)
            with m.Elif(first_fault):
                m.d.sync += [fault.eq(b.payload.resp), fault_address.eq(here)]
        m.d.sync += under_way.eq(under_way + ask - answer)
        wiring.connect(m, statuses.output, wiring.flipped(self.status))

        m.d.comb += [
            self.idle.eq(~aw.valid & (under_way == 0)),
            self.progress.eq((aw.valid & aw.ready) | (w.valid & w.ready) | answer),
            self.oldest.eq(here),
        ]
        return m
