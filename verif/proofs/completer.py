"""One completion for each ticket, in order, with the tag and the status that it deserves."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, C, Cover, Module, Mux, Signal, Value

from cdma.hdl.axi.ports import Response
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.engine.channel.completer import Completer
from cdma.hdl.spec.records import Status

from .bench import Bench, free, hold, last_cycle, obey
from .design import Config, codec_in, engine_with
from .proof import Proof

__all__ = ["PROOFS", "Completed"]

#: Cycles from the one in which a ticket can be completed to that in which its completion is shown.
_SHOWN_AFTER = 13
#: What the completer writes into the ticket itself.
_OWN = ("finish", "written", "cycles")


class Completed(Bench):
    """A ticket goes a cycle after its completion has been accepted, and only then.

    A ticket stays what it is until it goes. Its outcomes do so from when it is reported or its completion is shown, and
    what the completer writes into it from when its completion is shown.

    Ghost state: ``dropping`` and ``late`` say how the completion in hand began, and ``waits`` for how long it could have.
    """

    def __init__(self, completer: Completer) -> None:
        super().__init__()
        self.completer = completer

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.completer
        ticket, completion = dut.tickets.payload, dut.completion
        self._give_tickets(m)
        obey(m, dut.report, "report")
        for name in ("drop", "hold", "watchdog", "at_write"):
            free(m, name, getattr(dut, name))
        hold(m, completion, "completion")

        refused, raw = ~ticket.started, ticket.fields.raw
        complete = refused | (dut.reported & (raw | dut.report.valid))
        dropping, late = Signal(), Signal()
        with m.If(dut.stamp):
            m.d.sync += [dropping.eq(dut.drop), late.eq(dut.drop & dut.watchdog)]
        accepted = last_cycle(m, completion.valid & completion.ready, "accepted")
        status = self._judge(m, refused, dropping, late)
        shown = completion.valid
        m.d.comb += [
            # Nothing is completed that is not there, or before it is complete, unless it is dropped.
            Assert(~dut.stamp | (dut.tickets.valid & (dut.drop | (complete & ~dut.hold)))),
            Assert(~shown | (dut.tickets.valid & (complete | dropping))),
            # One to one, in order.
            Assert(dut.tickets.ready == accepted),
            Assert(~(accepted & shown)),
            Assert(~shown | (completion.payload.tag == ticket.fields.tag)),
            Assert(~shown | (completion.payload.status == status)),
            Assert(~shown | (dut.failed == (status != Status.OK))),
            # A report of the codec goes with the ticket that it belongs to.
            Assert(dut.report.ready == (accepted & ticket.started & ~dropping & ~raw)),
            Cover(accepted & (status == Status.OK) & ~raw),
            Cover(accepted & (status == Status.WATCHDOG)),
            Cover(accepted & (status == Status.WRITE_SLVERR)),
        ]
        waits = Signal(range(_SHOWN_AFTER + 2))
        could = dut.tickets.valid & (dut.drop | (complete & ~dut.hold)) & ~shown & ~accepted
        with m.If(~could):
            m.d.sync += waits.eq(0)
        with m.Elif(waits <= _SHOWN_AFTER):
            m.d.sync += waits.eq(waits + 1)
        m.d.comb += Assert(waits <= _SHOWN_AFTER)

    def _give_tickets(self, m: Module) -> None:
        """Tickets that stay as they are, but for what is written into them."""
        dut = self.completer
        ticket = dut.tickets.payload
        free(m, "ticket", Value.cast(ticket))
        free(m, "ticket_valid", dut.tickets.valid)
        free(m, "reported", dut.reported)
        waiting = last_cycle(m, dut.tickets.valid & ~dut.tickets.ready, "ticket_was_waiting")
        settled = last_cycle(m, dut.reported, "was_reported")
        m.d.comb += Assume(~waiting | (dut.tickets.valid & (dut.reported | ~settled)))
        shown = last_cycle(m, dut.completion.valid, "was_shown")
        for name in ticket.shape().members:
            value = Value.cast(ticket[name])
            same = last_cycle(m, value, f"ticket_{name}_was") == value
            changing: Value = C(0)
            if name in _OWN:
                changing = ~shown
            elif name.startswith(("read_", "write_")) or name == "overflow":
                changing = ~(shown | settled)
            m.d.comb += Assume(~waiting | same | changing)
        # After a timeout it is known which port was at fault.
        at_write = last_cycle(m, dut.at_write, "was_at_write") == dut.at_write
        m.d.comb += Assume(~waiting | at_write)

    def _judge(self, m: Module, refused: Value, dropping: Value, late: Value) -> Signal:
        """The first cause counts."""
        ticket, error = self.completer.tickets.payload, self.completer.report.payload.error
        status = Signal(8)

        def cause(resp: Value, decerr: Status, slverr: Status) -> Value:
            return Mux(resp == Response.DECERR, decerr, slverr)

        of_stream = (
            (Error.TRUNCATED, Status.STREAM_TRUNCATED),
            (Error.TRAILING, Status.STREAM_TRAILING),
            (Error.CODE, Status.STREAM_CODE),
        )
        with m.If(refused):
            m.d.comb += status.eq(ticket.fields.status)
        with m.Elif(dropping):
            m.d.comb += status.eq(Mux(late, Status.WATCHDOG, Status.ABORTED))
        with m.Elif(ticket.read_resp != Response.OKAY):
            m.d.comb += status.eq(cause(ticket.read_resp, Status.READ_DECERR, Status.READ_SLVERR))
        with m.Elif(~ticket.fields.raw & (error != Error.NONE)):
            for found, reported in of_stream:
                with m.If(error == found):
                    m.d.comb += status.eq(reported)
        with m.Elif(ticket.write_resp != Response.OKAY):
            m.d.comb += status.eq(cause(ticket.write_resp, Status.WRITE_DECERR, Status.WRITE_SLVERR))
        with m.Elif(ticket.overflow):
            m.d.comb += status.eq(Status.CAPACITY)
        return status


def _without_padding(config: Config) -> bool:
    """The completer of the proof knows no padding."""
    codec = codec_in(config)
    return engine_with(realign=True, units=True)(config) and codec is not None and not codec.format.padded


PROOFS = [
    Proof(
        name="completer",
        config="8 bits of address",
        claim="one completion for each ticket, in order, with its tag and the status of its first cause; not before its"
        " stages are done, unless it is dropped; shown 13 cycles after it can be",
        blocks=(Completer,),
        built_so=_without_padding,
        bench=lambda: Completed(Completer(8, 8)),
        cover=36,
    )
]
