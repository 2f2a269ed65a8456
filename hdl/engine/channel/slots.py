"""A channel's descriptors while they are under way, one slot each: what the checker found is kept here for every
stage, and what the stages say for the completer."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.outcome import Outcome
from cdma.hdl.axi.ports import Response
from cdma.hdl.axi.reader import ReadCommand
from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.axi.writer import WriteCommand
from cdma.hdl.spec.records import LENGTH_BITS, Status

from .codec_switch import Route
from .descriptor import StatusShape

__all__ = ["ADDRESS_BYTES", "CYCLES_BYTES", "LENGTH_BYTES", "SlotPort", "Slots", "Ticket", "TicketFields"]

#: Bytes of what is written a byte at a time.
ADDRESS_BYTES = 8
CYCLES_BYTES = 4
LENGTH_BYTES = -(-SPAN_BITS // 8)

#: What the completer must know of a descriptor besides. A ``status`` other than OK refuses it.
TicketFields = data.StructLayout({"tag": 32, "interrupt": 1, "raw": 1, "words": 32, "status": StatusShape})


class Ticket(data.StructLayout):
    """All that is known of the oldest descriptor.

    From the checker: ``fields``; ``start``, the time at which it began; ``objection``, the address that belongs to
    ``fields.status``; ``bytes`` to read; ``destination``, of which the lower bits matter. From the stages:
    ``read_resp``, ``read_address``, ``write_resp``, ``write_address``, ``overflow`` (see :class:`.Outcome`
    and :class:`.AxiWriter`) and ``write_end``. From the completer itself: ``finish``, ``written``,
    ``cycles``.
    """

    def __init__(self, read_address_bits: int, write_address_bits: int) -> None:
        super().__init__(
            {
                "fields": TicketFields,
                "start": 8 * CYCLES_BYTES,
                "objection": 8 * ADDRESS_BYTES,
                "bytes": LENGTH_BITS,
                "destination": SPAN_BITS,
                "read_resp": Response,
                "read_address": read_address_bits,
                "write_resp": Response,
                "write_address": write_address_bits,
                "overflow": 1,
                "write_end": SPAN_BITS,
                "finish": 8 * CYCLES_BYTES,
                "written": LENGTH_BITS,
                "cycles": 8 * CYCLES_BYTES,
            }
        )


class SlotPort(wiring.Signature):
    """How the checker fills the next slot, while ``ready`` says that there is one.

    ``begin`` notes the time. A byte of each number is written at a time, the one at ``place`` (one bit per byte):
    with ``source``, ``first``, ``last`` and ``count`` of what is read; with ``destination``, ``first`` and ``last``
    of where it goes; with ``objection``, ``last`` as the address of the objection. ``push`` hands the slot on, with
    ``fields`` and ``route``; the stages see it only if ``fields.status`` is OK.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "ready": In(1),
                "begin": Out(1),
                "place": Out(ADDRESS_BYTES),
                "source": Out(1),
                "destination": Out(1),
                "objection": Out(1),
                "first": Out(8),
                "last": Out(8),
                "count": Out(8),
                "fields": Out(TicketFields),
                "route": Out(Route),
                "push": Out(1),
            }
        )


class _Walk:
    """A place in the slots, behind another one: ``next`` is where memories are to be read, so that what lies at
    ``position`` is in their read registers while ``valid``."""

    def __init__(self, m: Module, name: str, ahead: Signal) -> None:
        self.position = Signal.like(ahead, name=f"{name}_position")
        self.next = Signal.like(ahead, name=f"{name}_next")
        self.valid = Signal(name=f"{name}_valid")
        self.step = Signal(name=f"{name}_step")
        following = Signal.like(ahead, name=f"{name}_following")
        m.d.comb += [following.eq(self.position + 1), self.next.eq(Mux(self.step, following, self.position))]
        # Whether it steps is known late.
        m.d.sync += [
            self.position.eq(self.next),
            self.valid.eq(Mux(self.step, following != ahead, self.position != ahead)),
        ]

    def give(self, m: Module, sink: stream.Interface) -> None:
        """Makes a stream of what lies there."""
        m.d.comb += [sink.valid.eq(self.valid), self.step.eq(self.valid & sink.ready)]


class Slots(wiring.Component):
    """``depth`` slots, a power of two, walked over in order: the reader's commands, the codec's routes and the
    writer's commands each as a stream, and the tickets.

    Everything lies in memories with one write port and one clocked, non-transparent read port. What was pushed is
    at the streams two cycles later.

    ``tickets``
        ``heard``: reader and writer are done with it. ``resp``, addresses, ``overflow`` and ``write_end`` are
        valid only then, and only where the slot was not refused.
    ``end``
        Belongs to ``write``: where the packet ended, when its command is taken.
    ``now``, ``stamp``
        The time; ``stamp`` keeps it as the ticket's ``finish``.
    ``result``, ``result_place``
        A byte of the ticket's ``written`` and, behind it, ``cycles``, and where it goes (one bit per byte).
    ``at_stages``
        While high, the addresses in the ticket are those that the stages noted for their oldest command, which
        may not be the ticket's.
    ``empty``
        No slot is in use.

    What is written in one cycle is in the ticket two cycles later.
    """

    def __init__(self, read_address_bits: int, write_address_bits: int, depth: int) -> None:
        assert depth.bit_count() == 1, depth
        self.read_address_bits = read_address_bits
        self.write_address_bits = write_address_bits
        self.depth = depth
        super().__init__(
            {
                "input": In(SlotPort()),
                "read": Out(stream.Signature(ReadCommand(read_address_bits))),
                "route": Out(stream.Signature(Route)),
                "write": Out(stream.Signature(WriteCommand(write_address_bits))),
                "end": In(SPAN_BITS),
                "read_outcome": In(Outcome(read_address_bits)),
                "write_outcome": In(Outcome(write_address_bits)),
                "overflow": In(1),
                "tickets": Out(stream.Signature(Ticket(read_address_bits, write_address_bits))),
                "heard": Out(1),
                "now": In(32),
                "stamp": In(1),
                "result": In(8),
                "result_place": In(LENGTH_BYTES + CYCLES_BYTES),
                "at_stages": In(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        checked, ticket = self.input, self.tickets.payload
        # Slots of the tickets, and of those among them that were started: the stages know only these.
        head = Signal(range(2 * self.depth))
        started = Signal(range(2 * self.depth))
        read_done = Signal.like(head)
        write_done = Signal.like(head)
        starts = Signal()
        front = _Walk(m, "ticket", head)
        heard = _Walk(m, "heard", read_done)
        written = Signal()
        m.d.comb += [
            starts.eq(checked.push & (checked.fields.status == Status.OK)),
            checked.ready.eq(head != front.position ^ self.depth),
            self.empty.eq(head == front.position),
            self.tickets.valid.eq(front.valid),
            front.step.eq(self.tickets.valid & self.tickets.ready),
            heard.step.eq(front.step & (ticket.fields.status == Status.OK)),
            self.heard.eq(heard.valid & written),
        ]
        m.d.sync += [
            head.eq(head + checked.push),
            started.eq(started + starts),
            read_done.eq(read_done + self.read_outcome.done),
            write_done.eq(write_done + self.write_outcome.done),
            written.eq(heard.next != write_done),
        ]

        def keep(name: str, write_at: Value, read_at: Value, value: Value, enable: Value | int) -> Value:
            """A memory with a word per slot; each bit of ``enable`` writes its part of the word."""
            memory = Memory(shape=len(value), depth=self.depth, init=[])
            m.submodules[name] = memory
            write = memory.write_port(granularity=len(value) // len(Value.cast(enable)))
            read = memory.read_port(domain="sync")
            m.d.comb += [
                write.addr.eq(write_at[: len(write.addr)]),
                write.data.eq(value),
                write.en.eq(enable),
                read.addr.eq(read_at[: len(read.addr)]),
                read.en.eq(1),
            ]
            return read.data

        # For the stages.
        read, route, write = (_Walk(m, name, started) for name in ("read", "route", "write"))
        for walk, sink in ((read, self.read), (route, self.route), (write, self.write)):
            walk.give(m, sink)
        for name, walk, sink, enable, bits in (
            ("read", read, self.read, checked.source, self.read_address_bits),
            ("write", write, self.write, checked.destination, self.write_address_bits),
        ):
            count = -(-bits // 8)
            places = Mux(enable, checked.place[:count], 0)
            for part, value in (("first", checked.first), ("last", checked.last)):
                stored = keep(f"{name}_{part}", started, walk.next, value.replicate(count), places)
                m.d.comb += sink.payload[part].eq(stored)
        stored = keep("routes", started, route.next, checked.route.as_value(), checked.push)
        m.d.comb += self.route.payload.eq(stored)

        # For the completer: from the checker ...
        for name, value, enable, count in (
            ("objection", checked.last, checked.objection, ADDRESS_BYTES),
            ("bytes", checked.count, checked.source, LENGTH_BYTES),
            ("destination", checked.first, checked.destination, LENGTH_BYTES),
        ):
            places = Mux(enable, checked.place[:count], 0)
            m.d.comb += ticket[name].eq(keep(name, head, front.next, value.replicate(count), places))
        fields = keep("fields", head, front.next, checked.fields.as_value(), checked.push)
        m.d.comb += [
            ticket.fields.eq(fields),
            ticket.start.eq(keep("start", head, front.next, self.now, checked.begin)),
        ]
        # ... from the stages ...
        for name, outcome, done in (
            ("read", self.read_outcome, read_done),
            ("write", self.write_outcome, write_done),
        ):
            read_at = Mux(self.at_stages, done, heard.next)
            m.d.comb += ticket[f"{name}_address"].eq(
                keep(f"{name}_addresses", done, read_at, outcome.address, outcome.note)
            )
        m.d.comb += [
            ticket.read_resp.eq(
                keep(
                    "read_resps",
                    read_done,
                    heard.next,
                    self.read_outcome.resp.as_value(),
                    self.read_outcome.done,
                )
            ),
            Cat(ticket.write_resp, ticket.overflow).eq(
                keep(
                    "write_resps",
                    write_done,
                    heard.next,
                    Cat(self.write_outcome.resp, self.overflow),
                    self.write_outcome.done,
                )
            ),
            ticket.write_end.eq(keep("ends", write.position, heard.next, self.end, write.step)),
        ]
        # ... and from itself.
        count = len(self.result_place)
        results = keep("results", front.position, front.next, self.result.replicate(count), self.result_place)
        m.d.comb += [
            ticket.finish.eq(keep("finish", front.position, front.next, self.now, self.stamp)),
            ticket.written.eq(results),
            ticket.cycles.eq(results[8 * LENGTH_BYTES :]),
        ]
        return m
