"""Collects what the stages say about each descriptor into one completion, in order."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..streams import Error, Report
from .axi import Response
from .axi_reader import ReadStatus
from .axi_writer import WriteStatus
from .checker import Ticket
from .descriptor import Completion
from .records import Status

__all__ = ["Completer"]

_OF_STREAM = {
    Error.TRUNCATED: Status.STREAM_TRUNCATED,
    Error.TRAILING: Status.STREAM_TRAILING,
    Error.CODE: Status.STREAM_CODE,
}


class Completer(wiring.Component):
    """One completion per ticket. A started descriptor is complete when its reader, its writer and, unless its
    data passed around the codec, the codec have said how it went.

    The first cause in the order of the data's flow counts: a read that failed, a corrupt stream, a write that
    failed, a capacity exceeded behind what was written.

    ``drop``
        While high, tickets are completed without asking the stages: as ``ABORTED``, or, if ``watchdog`` is
        high, the first of them as ``WATCHDOG`` with ``watchdog_address``; a refused one as what it was
        refused for.
    ``hold``
        While high, and ``drop`` is low, nothing is completed.
    ``taken``, ``failed``
        A completion is made in this cycle; it tells of an error.
    ``words``, ``interrupt``
        Beside ``completion``: raw words that went through the codec, and whether the completion counts
        towards the interrupt.
    """

    def __init__(self, read_address_bits: int, write_address_bits: int) -> None:
        super().__init__(
            {
                "tickets": In(stream.Signature(Ticket)),
                "read": In(stream.Signature(ReadStatus(read_address_bits))),
                "report": In(stream.Signature(Report)),
                "write": In(stream.Signature(WriteStatus(write_address_bits))),
                "completion": Out(stream.Signature(Completion)),
                "interrupt": Out(1),
                "words": Out(32),
                "now": In(32),
                "drop": In(1),
                "hold": In(1),
                "watchdog": In(1),
                "watchdog_address": In(64),
                "taken": Out(1),
                "failed": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ticket, write, report = self.tickets.payload, self.write.payload, self.report.payload
        completion = self.completion.payload
        refused = Signal()
        heard = Signal()
        status = Signal.like(ticket.status)
        address = Signal(64)
        m.d.comb += [
            refused.eq(ticket.status != Status.OK),
            heard.eq(self.read.valid & self.write.valid & (ticket.raw | self.report.valid)),
            self.taken.eq(
                self.tickets.valid
                & (self.drop | ((refused | heard) & ~self.hold))
                & (~self.completion.valid | self.completion.ready)
            ),
            self.tickets.ready.eq(self.taken),
            self.failed.eq(status != Status.OK),
        ]
        with m.If(refused):
            m.d.comb += [status.eq(ticket.status), address.eq(ticket.address)]
        with m.Elif(self.drop):
            m.d.comb += status.eq(Mux(self.watchdog, Status.WATCHDOG, Status.ABORTED))
            with m.If(self.watchdog):
                m.d.comb += address.eq(self.watchdog_address)
        with m.Else():
            self._judge(m, status, address)
            m.d.comb += [
                self.read.ready.eq(self.taken),
                self.write.ready.eq(self.taken),
                self.report.ready.eq(self.taken & ~ticket.raw),
            ]

        with m.If(self.taken):
            moved = ~refused & ~self.drop
            m.d.sync += [
                self.completion.valid.eq(1),
                completion.tag.eq(ticket.tag),
                completion.literals.eq(Mux(moved & ~ticket.raw, report.literals, 0)),
                completion.bytes_read.eq(Mux(moved, ticket.bytes, 0)),
                completion.bytes_written.eq(Mux(moved, write.bytes, 0)),
                completion.cycles.eq((self.now - ticket.start)[:32]),
                completion.address.eq(address),
                completion.status.eq(status),
                self.interrupt.eq(ticket.interrupt | self.failed),
                self.words.eq(Mux(moved & ~ticket.raw, ticket.words, 0)),
            ]
        with m.Elif(self.completion.ready):
            m.d.sync += self.completion.valid.eq(0)
        return m

    def _judge(self, m: Module, status: Signal, address: Signal) -> None:
        ticket, read, write, report = (s.payload for s in (self.tickets, self.read, self.write, self.report))
        with m.If(read.resp != Response.OKAY):
            m.d.comb += [
                status.eq(Mux(read.resp == Response.DECERR, Status.READ_DECERR, Status.READ_SLVERR)),
                address.eq(read.address),
            ]
        with m.Elif(~ticket.raw & (report.error != Error.NONE)), m.Switch(report.error):
            for error, cause in _OF_STREAM.items():
                with m.Case(error):
                    m.d.comb += status.eq(cause)
        with m.Elif(write.resp != Response.OKAY):
            m.d.comb += [
                status.eq(Mux(write.resp == Response.DECERR, Status.WRITE_DECERR, Status.WRITE_SLVERR)),
                address.eq(write.address),
            ]
        with m.Elif(write.overflow):
            m.d.comb += [status.eq(Status.CAPACITY), address.eq(write.address)]
