"""Descriptors in flight: slots keep their values, and each ticket gets one completion, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.hdl import Assert, Assume, C, Cover, Module, Mux, Signal, Value
from amaranth.lib import stream

from cdma.hdl.axi.ports import Response
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.engine.channel.completer import Completer
from cdma.hdl.engine.channel.slots import Slots
from cdma.hdl.spec.records import Status

from .bench import Bench, free, hold, last_cycle, obey
from .proof import Config, Proof, codec_in, engine_with

#: Bits of a number that are followed: slots never look at them, and two tell a number from its neighbours.
_BITS = 2
#: Cycles from a push until its ticket, and from the last report until ``reported``.
_SHOWN = 3


@dataclass(eq=False)
class Keeping(Bench):
    """Any one descriptor is followed, refused or started, through the streams of the stages to its ticket.

    The checker writes only while there is a free slot, and all of a descriptor before it is pushed. Stages finish
    commands in their order, and a started ticket goes when it is reported.

    Ghost state: ``last`` has what was written of each kind; ``word`` its value when the followed descriptor was pushed,
    or when a stage reported on it. ``ahead`` counts, for each stream and each report, the descriptors before it.
    """

    slots: Slots

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.slots
        checked, ticket = dut.input, dut.tickets.payload
        push = checked.push
        starts = Signal()
        m.d.comb += starts.eq(push & checked.starts)
        last = self._check(m)
        takes = self._take(m)
        follow = free(m, "follow")
        tracked, started = Signal(), Signal()
        begins = ~tracked & push & follow
        gone = Signal()
        #: Of each event: descriptors that it will come for, those before the followed one, and whether that had it.
        inside, ahead, passed = {}, {}, {}
        for name, event in takes.items():
            inside[name] = inside_here = Signal(range(dut.depth + 2), name=f"{name}_inside")
            ahead[name] = ahead_here = Signal(range(dut.depth + 2), name=f"{name}_ahead")
            passed[name] = passed_here = Signal(name=f"{name}_passed")
            entering = push if name == "ticket" else starts
            m.d.sync += inside_here.eq(inside_here + entering - event)
            with m.If(begins):
                m.d.sync += [ahead_here.eq(inside_here - event), passed_here.eq(0)]
            with m.Elif(tracked & event & ~passed_here):
                m.d.sync += [ahead_here.eq(ahead_here - 1), passed_here.eq(ahead_here == 0)]
            m.d.comb += Assert(inside_here <= dut.depth)
        with m.If(begins):
            m.d.sync += [tracked.eq(1), started.eq(checked.starts)]
        with m.Elif(tracked & takes["ticket"] & (ahead["ticket"] == 0)):
            m.d.sync += [tracked.eq(0), gone.eq(1)]

        def here(name: str) -> Value:
            """The event is that of the followed descriptor."""
            return tracked & (ahead[name] == 0) & ~passed[name] & (started | (name == "ticket"))

        word = {}
        for name, value in last.items():
            word[name] = Signal.like(value, name=f"word_{name}")
            with m.If(begins):
                m.d.sync += word[name].eq(value)
        for name, sink in (("read", dut.read), ("write", dut.write)):
            offered = here(name) & sink.valid
            for part in ("first", "last"):
                m.d.comb += Assert(~offered | (sink.payload[part][:_BITS] == word[f"{name}_{part}"]))
            m.d.comb += Assert(~sink.valid | (inside[name] != 0))
            if "user" in word:
                m.d.comb += Assert(~offered | (sink.payload.user == word["user"]))
        m.d.comb += Assert(
            ~(here("route") & dut.route.valid) | (dut.route.payload.words[:_BITS] == word["words"])
        )

        front = here("ticket") & dut.tickets.valid
        reported = front & started & dut.reported
        m.d.comb += [
            Assert(~dut.tickets.valid | (inside["ticket"] != 0)),
            Assert(~front | (ticket.started == started)),
            Assert(~front | (ticket.fields.tag[:_BITS] == word["tag"])),
            Assert(~front | (ticket.start[:_BITS] == word["start"])),
            Assert(~front | started | (ticket.objection[:_BITS] == word["objection"])),
            Assert(~(front & started) | (ticket.bytes[:_BITS] == word["bytes"])),
            Assert(~(front & started) | (ticket.destination[:_BITS] == word["write_first"])),
            Assert(~reported | (passed["read_done"] & passed["write_done"])),
            Assert(~checked.ready | (inside["ticket"] != dut.depth)),
            Assert(~dut.empty | (inside["ticket"] == 0)),
        ]
        for name, (known, value) in self._reports(m, begins, here).items():
            m.d.comb += [
                Assert(~reported | ~known | (Value.cast(ticket[name])[:_BITS] == value)),
                Assert(~reported | known | name.endswith("address")),
                Cover(reported & known),
            ]
        # Nothing waits for longer than the memories take.
        for name, high, there in (
            ("free", (inside["ticket"] != dut.depth) & ~last_cycle(m, push, "was_pushed"), checked.ready),
            ("empty", inside["ticket"] == 0, dut.empty),
            ("ticket", here("ticket"), dut.tickets.valid),
            ("report", front & started & passed["read_done"] & passed["write_done"], dut.reported),
        ):
            age = Signal(range(_SHOWN + 1), name=f"{name}_age")
            m.d.sync += age.eq(Mux(high, Mux(age == _SHOWN, age, age + 1), 0))
            m.d.comb += Assert((age != _SHOWN) | ~high | there)
        m.d.comb += [
            Cover(reported & (ticket.read_resp == Response.SLVERR) & (word["tag"] == 1)),
            Cover(front & ~started & gone),
            Cover(inside["ticket"] == dut.depth),
        ]

    def _check(self, m: Module) -> dict[str, Signal]:
        """What the checker has written of each kind when it pushes."""
        dut = self.slots
        checked = dut.input
        for name in (
            *("begin", "source", "destination", "objection", "push", "starts", "first", "last", "count"),
            *("place",),
        ):
            free(m, name, getattr(checked, name))
        free(m, "fields", Value.cast(checked.fields))
        free(m, "route", Value.cast(checked.route))
        free(m, "now", dut.now)
        first_byte = checked.place[0]
        written: dict[str, tuple[Value, Value]] = {
            "read_first": (checked.source & first_byte, checked.first),
            "read_last": (checked.source & first_byte, checked.last),
            "write_first": (checked.destination & first_byte, checked.first),
            "write_last": (checked.destination & first_byte, checked.last),
            "bytes": (checked.source & first_byte, checked.count),
            "objection": (checked.objection & first_byte, checked.last),
            "start": (checked.begin, dut.now),
        }
        writes = checked.begin | checked.source | checked.destination | checked.objection
        m.d.comb += Assume(~(writes | checked.push) | checked.ready)
        # The address of an objection is the last that is written of a descriptor, which is not started.
        objected = Signal()
        m.d.sync += objected.eq((objected | checked.objection) & ~checked.push)
        m.d.comb += Assume(
            ~objected | ~(checked.source | checked.destination | (checked.push & checked.starts))
        )
        m.d.comb += Assume(~checked.objection | ~(checked.source | checked.destination | checked.push))
        found: dict[str, Signal] = {}
        there = {}
        for name, (enable, value) in written.items():
            kept = Signal(_BITS, name=f"kept_{name}")
            there[name] = Signal(name=f"there_{name}")
            found[name] = Signal(_BITS, name=f"last_{name}")
            m.d.comb += found[name].eq(Mux(enable, value, kept))
            m.d.sync += [kept.eq(found[name]), there[name].eq((there[name] | enable) & ~checked.push)]
            needed = checked.push & ~enable & ~there[name]
            if name == "objection":
                needed &= ~checked.starts
            elif name != "start":
                needed &= checked.starts
            m.d.comb += Assume(~needed)
        pushed = {"tag": checked.fields.tag, "words": checked.route.words}
        if len(checked.user):
            pushed["user"] = free(m, "user", checked.user)
        for name, value in pushed.items():
            found[name] = Signal(min(_BITS, len(value)), name=f"last_{name}")
            m.d.comb += found[name].eq(value)
        return found

    def _take(self, m: Module) -> dict[str, Value]:
        """The stages and the completer: when each accepts its own, and when it reports."""
        dut = self.slots
        takes: dict[str, Value] = {}
        sinks: tuple[tuple[str, stream.Interface], ...] = (
            ("read", dut.read),
            ("route", dut.route),
            ("write", dut.write),
        )
        for name, sink in sinks:
            hold(m, sink, name)
            takes[name] = sink.valid & sink.ready
        for name in ("read", "write"):
            outcome = getattr(dut, f"{name}_outcome")
            for part in ("note", "address", "done", "resp"):
                free(m, f"{name}_{part}", Value.cast(getattr(outcome, part)))
            open_ = Signal(range(dut.depth + 2), name=f"{name}_open")
            m.d.sync += open_.eq(open_ + takes[name] - outcome.done)
            m.d.comb += [
                Assume(~outcome.done | (open_ != 0)),
                Assume(~outcome.note | (open_ != 0) | getattr(dut, name).valid),
            ]
            takes[f"{name}_done"] = outcome.done
        # What is written has gone the way that its route says.
        routed = Signal(range(dut.depth + 2))
        m.d.sync += routed.eq(routed + takes["route"] - takes["write_done"])
        m.d.comb += Assume(~takes["write_done"] | (routed != 0))
        free(m, "overflow", dut.overflow)
        free(m, "end", dut.end)
        for name in ("stamp", "result", "result_place"):
            free(m, name, getattr(dut, name))
        free(m, "ticket_ready", dut.tickets.ready)
        ticket = dut.tickets.payload
        m.d.comb += [
            dut.at_stages.eq(0),
            Assume(~dut.tickets.ready | (dut.tickets.valid & (~ticket.started | dut.reported))),
        ]
        was_shown = last_cycle(m, dut.tickets.valid & ~dut.tickets.ready, "ticket_was_shown")
        m.d.comb += Assert(~was_shown | dut.tickets.valid)
        takes["ticket"] = dut.tickets.valid & dut.tickets.ready
        return takes

    def _reports(
        self, m: Module, begins: Value, here: Callable[[str], Value]
    ) -> dict[str, tuple[Signal, Signal]]:
        """What the stages have reported of the tracked descriptor: for each report a valid, and its last value."""
        dut = self.slots
        said: dict[str, tuple[Signal, Signal]] = {}

        def keep(name: str, when: Value, value: Value) -> None:
            known = Signal(name=f"known_{name}")
            kept = Signal(len(value), name=f"said_{name}")
            said[name] = known, kept
            with m.If(begins):
                m.d.sync += known.eq(0)
            with m.Elif(when):
                m.d.sync += [known.eq(1), kept.eq(value)]

        for name in ("read", "write"):
            outcome = getattr(dut, f"{name}_outcome")
            own = here(f"{name}_done")
            keep(f"{name}_resp", own & outcome.done, outcome.resp.as_value())
            # Of several addresses, the last one counts.
            keep(f"{name}_address", own & outcome.note, outcome.address[:_BITS])
        keep("overflow", here("write_done") & dut.write_outcome.done, dut.overflow)
        keep("write_end", here("write") & dut.write.valid & dut.write.ready, dut.end[:_BITS])
        return said


#: Cycles from the one in which a ticket can be completed to that in which its completion is shown.
_SHOWN_AFTER = 13
#: What the completer writes into the ticket itself.
_OWN = ("finish", "written", "cycles")


@dataclass(eq=False)
class Completed(Bench):
    """A ticket goes a cycle after its completion has been accepted, and only then.

    A ticket is constant until it goes. Its outcomes are constant from when it is reported or its completion is shown,
    and the completer's own values from when its completion is shown.

    Ghost state: ``dropping`` and ``late`` of the current completion's beginning, and ``waits``, for how long it could
    have gone.
    """

    completer: Completer

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
        name="slots",
        config="2 slots",
        claim="each stage gets the commands of the descriptors that were started, in order and unchanged; each descriptor"
        " has one ticket, in order, with its own fields and reports, as soon as the memories have them",
        blocks=(Slots,),
        built_so=engine_with(realign=True, tails=False),
        bench=lambda: Keeping(Slots(8, 8, 2)),
        quick=False,
    ),
    Proof(
        name="completer",
        config="8 bits of address",
        claim="one completion for each ticket, in order, with its tag and the status of its first cause; not before its"
        " stages are done, unless it is dropped; shown 13 cycles after it can be",
        blocks=(Completer,),
        built_so=_without_padding,
        bench=lambda: Completed(Completer(8, 8)),
        cover=36,
    ),
]
