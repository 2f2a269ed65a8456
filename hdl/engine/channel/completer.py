"""Collects what the stages say about each descriptor into one completion, in order."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import Response
from cdma.hdl.blocks.gates import one_of
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.spec.records import Status

from .descriptor import Completion, StatusShape
from .slots import CYCLES_BYTES, LENGTH_BYTES, Ticket

__all__ = ["Completer", "Verdict"]

_OF_STREAM = {
    Error.TRUNCATED: Status.STREAM_TRUNCATED,
    Error.TRAILING: Status.STREAM_TRAILING,
    Error.CODE: Status.STREAM_CODE,
}

#: What of a codec's report counts.
Verdict = data.StructLayout({"literals": 32, "error": Error})


class Completer(wiring.Component):
    """One completion per ticket. A started descriptor is complete when its reader, its writer and, unless its
    data passed around the codec, the codec have said how it went.

    The first cause in the order of the data's flow counts: a read that failed, a corrupt stream, a write that
    failed, a capacity exceeded behind what was written.

    The numbers of a completion are calculated a byte at a time, with one subtractor, and kept with the ticket: a
    completion is shown 11 cycles after its ticket can be completed, straight from the ticket, which goes when the
    completion is accepted.

    ``heard``
        Beside the ticket: reader and writer are done.
    ``drop``
        While high, tickets are completed without asking the stages: as ``ABORTED``, or, if ``watchdog`` is
        high, as ``WATCHDOG`` with the ticket's ``write_address`` if ``at_write`` is high, ``read_address``
        otherwise; a refused one as what it was refused for.
    ``hold``
        While high, and ``drop`` is low, no completion is begun.
    ``stamp``, ``result``, ``result_place``
        For the ticket: see :class:`~cdma.hdl.engine.channel.slots.Slots`.
    ``taken``, ``failed``
        A completion is shown from the next cycle on; it tells of an error.
    ``late``
        The completion that is made or shown is the watchdog's.
    ``words``, ``interrupt``
        Beside ``completion``: raw words that went through the codec, and whether the completion counts
        towards the interrupt.
    """

    def __init__(self, read_address_bits: int, write_address_bits: int) -> None:
        super().__init__(
            {
                "tickets": In(stream.Signature(Ticket(read_address_bits, write_address_bits))),
                "heard": In(1),
                "report": In(stream.Signature(Verdict)),
                "completion": Out(stream.Signature(Completion)),
                "interrupt": Out(1),
                "words": Out(32),
                "stamp": Out(1),
                "result": Out(8),
                "result_place": Out(LENGTH_BYTES + CYCLES_BYTES),
                "drop": In(1),
                "hold": In(1),
                "watchdog": In(1),
                "at_write": In(1),
                "taken": Out(1),
                "failed": Out(1),
                "late": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ticket, fields = self.tickets.payload, self.tickets.payload.fields
        completion = self.completion.payload
        refused = Signal()
        complete = Signal()
        m.d.comb += [
            refused.eq(fields.status != Status.OK),
            complete.eq(refused | (self.heard & (fields.raw | self.report.valid))),
        ]

        # What is decided when a completion is begun: its ticket is dropped; and that because of the watchdog.
        dropped = Signal()
        late = Signal()
        moved = Signal()
        coded = Signal()
        m.d.comb += [moved.eq(~refused & ~dropped), coded.eq(moved & ~fields.raw)]

        # The steps: the bytes of two numbers, of which the time, noted at the beginning, is the second; the last
        # byte is read back; shown.
        places = Signal(LENGTH_BYTES + CYCLES_BYTES)
        written = Signal()
        begin = Signal()
        m.d.comb += [
            begin.eq(
                self.tickets.valid
                & (self.drop | (complete & ~self.hold))
                & ~(places.any() | written | self.completion.valid)
            ),
            self.stamp.eq(begin),
            self.taken.eq(written),
            self.late.eq(late),
            self.tickets.ready.eq(self.completion.valid & self.completion.ready),
        ]
        m.d.sync += [
            places.eq(Cat(begin, places)),
            written.eq(places[-1]),
            self.completion.valid.eq(written | (self.completion.valid & ~self.completion.ready)),
        ]
        with m.If(begin):
            m.d.sync += [
                dropped.eq(self.drop),
                late.eq(self.drop & self.watchdog & ~refused),
            ]
        self._subtract(m, places, moved)

        status = Signal(StatusShape)
        from_objection = Signal()
        from_read = Signal()
        from_write = Signal()
        with m.If(refused):
            m.d.comb += [status.eq(fields.status), from_objection.eq(1)]
        with m.Elif(dropped):
            m.d.comb += [
                status.eq(Mux(late, Status.WATCHDOG, Status.ABORTED)),
                from_read.eq(late & ~self.at_write),
                from_write.eq(late & self.at_write),
            ]
        with m.Else():
            self._judge(m, status, from_read, from_write)
        m.d.comb += [
            completion.tag.eq(fields.tag),
            completion.literals.eq(Mux(coded, self.report.payload.literals, 0)),
            completion.bytes_read.eq(Mux(moved, ticket.bytes, 0)),
            completion.bytes_written.eq(ticket.written),
            completion.cycles.eq(ticket.cycles),
            completion.address.eq(
                one_of(
                    (from_objection, ticket.objection),
                    (from_read, ticket.read_address),
                    (from_write, ticket.write_address),
                )
            ),
            completion.status.eq(status),
            self.failed.eq(status != Status.OK),
            self.interrupt.eq(fields.interrupt | self.failed),
            self.words.eq(Mux(coded, fields.words, 0)),
            self.report.ready.eq(self.tickets.ready & coded),
        ]
        return m

    def _subtract(self, m: Module, places: Signal, moved: Signal) -> None:
        """A byte per cycle: where the packet ended less where it began, and the time likewise."""
        ticket = self.tickets.payload
        numbers = (
            (ticket.write_end, ticket.destination, LENGTH_BYTES),
            (ticket.finish, ticket.start, CYCLES_BYTES),
        )
        minuend = Signal(8)
        subtrahend = Signal(8)
        difference = Signal(9)
        borrow = Signal()
        for side, operand in enumerate((minuend, subtrahend)):
            bytes_ = [
                Value.cast(number[side])[8 * place : 8 * place + 8]
                for number in numbers
                for place in range(number[2])
            ]
            m.d.comb += operand.eq(one_of(*zip(places, bytes_, strict=True)))
        m.d.comb += [
            difference.eq(minuend - subtrahend - borrow),
            self.result.eq(Mux(moved | places[LENGTH_BYTES:].any(), difference, 0)),
            self.result_place.eq(places),
        ]
        # The numbers begin without a borrow; behind their ends, where the one may leave one, is the other's begin.
        m.d.sync += borrow.eq(difference[-1] & ~places[LENGTH_BYTES - 1] & ~places[-1])

    def _judge(self, m: Module, status: Signal, from_read: Signal, from_write: Signal) -> None:
        """For a descriptor that was started and not dropped."""
        ticket, report = self.tickets.payload, self.report.payload
        with m.If(ticket.read_resp != Response.OKAY):
            m.d.comb += [
                status.eq(Mux(ticket.read_resp == Response.DECERR, Status.READ_DECERR, Status.READ_SLVERR)),
                from_read.eq(1),
            ]
        with m.Elif(~ticket.fields.raw & (report.error != Error.NONE)), m.Switch(report.error):
            for error, cause in _OF_STREAM.items():
                with m.Case(error):
                    m.d.comb += status.eq(cause)
        with m.Elif(ticket.write_resp != Response.OKAY):
            m.d.comb += [
                status.eq(
                    Mux(ticket.write_resp == Response.DECERR, Status.WRITE_DECERR, Status.WRITE_SLVERR)
                ),
                from_write.eq(1),
            ]
        with m.Elif(ticket.overflow):
            m.d.comb += [status.eq(Status.CAPACITY), from_write.eq(1)]
