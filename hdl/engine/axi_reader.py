"""Turns read commands into legal AXI4 bursts, and what comes back into packets of words."""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..streams import Beat
from .axi import ReadPort, Response
from .fifo import Fifo
from .records import LENGTH_BITS

__all__ = ["AxiReader", "ReadCommand", "ReadStatus"]


class ReadCommand(data.StructLayout):
    """Read ``bytes``, a whole number of words and not 0, from ``address``, which is aligned to a beat."""

    def __init__(self, address_bits: int) -> None:
        super().__init__({"address": address_bits, "bytes": LENGTH_BITS})


class ReadStatus(data.StructLayout):
    """The first response that was not OKAY, and the address of its beat."""

    def __init__(self, address_bits: int) -> None:
        super().__init__({"resp": Response, "address": address_bits})


class AxiReader(wiring.Component):
    """Each command becomes one packet at ``output`` and one ``status``.

    Bursts have at most ``burst`` beats, a power of two whose bytes divide 4 KiB, and never cross a multiple
    of that length; so they never cross 4 KiB. A burst is asked for only when the buffer has room for all of
    it, so the read port never has to wait for what comes after it, and when fewer than ``outstanding`` are
    under way.

    ``commands`` (a power of two) may be under way at once; the port is never made to wait as long as no more
    than that have a status that was not taken. A response that is not OKAY does not stop the command: its
    data, right or wrong, still come.

    ``flush``
        While high, no new burst is asked for, and data that come are dropped. Once ``idle`` is high as well,
        nothing is under way, and the reader may be reset.
    ``progress``, ``oldest``
        For a watchdog: a transfer happened on the port; the address that the next beat of data will be from.
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
                "command": In(stream.Signature(ReadCommand(address_bits))),
                "output": Out(stream.Signature(Beat(word_bits, self.lanes))),
                "status": Out(stream.Signature(ReadStatus(address_bits))),
                "port": Out(ReadPort(data_bits, address_bits)),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "oldest": Out(address_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat_log2 = self.beat_bytes.bit_length() - 1
        beats_bits = LENGTH_BITS - beat_log2 + 1
        words_bits = max(1, (self.lanes - 1).bit_length())
        ar, r = self.port.ar, self.port.r

        # A command as the side that receives needs it: address and length in beats, words of the last beat
        # less one.
        expected_shape = data.StructLayout(
            {"beat": self.address_bits - beat_log2, "beats": beats_bits, "last_words": words_bits}
        )
        m.submodules.expected = expected = Fifo(expected_shape, self.commands)
        command = self.command.payload
        command_beats = Signal(beats_bits)
        word_log2 = (self.word_bits // 8).bit_length() - 1
        m.d.comb += [
            command_beats.eq((command.bytes + (self.beat_bytes - 1)) >> beat_log2),
            expected.input.payload.beat.eq(command.address[beat_log2:]),
            expected.input.payload.beats.eq(command_beats),
            expected.input.payload.last_words.eq((command.bytes >> word_log2) - 1),
        ]

        # Asking: a burst is measured in one cycle and asked for in a later one.
        beat = Signal(self.address_bits - beat_log2)
        remaining = Signal(beats_bits)
        length = Signal(range(self.burst + 1))
        measured = Signal()
        free = Signal(range(self.buffer + 1), init=self.buffer)
        under_way = Signal(range(self.outstanding + 1))
        ask = Signal()
        to_boundary = Signal(range(self.burst + 1))
        m.d.comb += [
            self.command.ready.eq((remaining == 0) & ~measured & expected.input.ready & ~self.flush),
            expected.input.valid.eq(self.command.valid & (remaining == 0) & ~measured & ~self.flush),
            to_boundary.eq(self.burst - beat[: (self.burst - 1).bit_length()]),
            ask.eq(
                measured
                & (~ar.valid | ar.ready)
                & (free >= length)
                & (under_way != self.outstanding)
                & ~self.flush
            ),
        ]
        with m.If(self.command.valid & self.command.ready):
            m.d.sync += [beat.eq(command.address[beat_log2:]), remaining.eq(command_beats)]
        with m.If(~measured & (remaining != 0)):
            taken = Mux(remaining < to_boundary, remaining[: len(to_boundary)], to_boundary)
            m.d.sync += [length.eq(taken), measured.eq(1)]
        with m.If(ask):
            m.d.sync += [
                ar.valid.eq(1),
                ar.payload.address.eq(Cat(C(0, beat_log2), beat)),
                ar.payload.len.eq(length - 1),
                beat.eq(beat + length),
                remaining.eq(remaining - length),
                measured.eq(0),
            ]
        with m.Elif(ar.ready):
            m.d.sync += ar.valid.eq(0)
        m.d.comb += ar.payload.size.eq(beat_log2)

        # Receiving: the front of `expected` is the command whose data come now.
        stored_shape = data.StructLayout(
            {"data": self.lanes * self.word_bits, "words": words_bits, "last": 1}
        )
        m.submodules.store = store = Fifo(stored_shape, self.buffer)
        m.submodules.statuses = statuses = Fifo(ReadStatus(self.address_bits), self.commands)
        front = expected.output.payload
        done = Signal(beats_bits)
        fault = Signal(Response)
        fault_address = Signal(self.address_bits)
        receive, last = Signal(), Signal()
        here = Signal(self.address_bits)
        first_fault = Signal()
        m.d.comb += [
            r.ready.eq(expected.output.valid & statuses.input.ready),
            receive.eq(r.valid & r.ready),
            last.eq(done == front.beats - 1),
            here.eq((front.beat + done) << beat_log2),
            first_fault.eq((fault == Response.OKAY) & r.payload.resp.as_value()[1]),
            store.input.valid.eq(receive & ~self.flush),
            store.input.payload.data.eq(r.payload.data),
            store.input.payload.last.eq(last),
            store.input.payload.words.eq(Mux(last, front.last_words, self.lanes - 1)),
            statuses.input.valid.eq(receive & last),
            statuses.input.payload.resp.eq(Mux(first_fault, r.payload.resp, fault)),
            statuses.input.payload.address.eq(Mux(first_fault, here, fault_address)),
            expected.output.ready.eq(receive & last),
        ]
        with m.If(receive):
            m.d.sync += done.eq(Mux(last, 0, done + 1))
            with m.If(last):
                m.d.sync += fault.eq(Response.OKAY)
            with m.Elif(first_fault):
                m.d.sync += [fault.eq(r.payload.resp), fault_address.eq(here)]

        output = self.output
        taken_out = Signal()
        m.d.comb += [
            output.valid.eq(store.output.valid),
            store.output.ready.eq(output.ready),
            taken_out.eq(store.output.valid & store.output.ready),
            output.payload.data.eq(store.output.payload.data),
            output.payload.last.eq(store.output.payload.last),
            output.payload.keep.eq(Cat(store.output.payload.words >= lane for lane in range(self.lanes))),
        ]
        m.d.sync += [
            free.eq(free - Mux(ask, length, 0) + taken_out),
            under_way.eq(under_way + ask - (receive & r.payload.last)),
        ]
        wiring.connect(m, statuses.output, wiring.flipped(self.status))

        m.d.comb += [
            self.idle.eq(~ar.valid & (under_way == 0)),
            self.progress.eq((ar.valid & ar.ready) | receive),
            self.oldest.eq(here),
        ]
        return m
