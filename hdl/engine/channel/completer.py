"""Collects what the stages report about each descriptor into one completion, in order."""

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import Response, address_checks, whole_address
from cdma.hdl.blocks.arithmetic import CRC_BITS, one_of
from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.blocks.memories import PlainMemories, coding_of, wrong_bits
from cdma.hdl.codec.lossy import OutOfRange
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.engine.path.ports import Verdict
from cdma.hdl.spec.records import NO_OPTIONS, RecordOptions, Status

from .interfaces import Completion, StatusShape
from .tickets import CYCLES_BYTES, Ticket, length_bytes, result_bytes

_OF_STREAM = {
    Error.TRUNCATED: Status.STREAM_TRUNCATED,
    Error.TRAILING: Status.STREAM_TRAILING,
    Error.CODE: Status.STREAM_CODE,
    Error.PADDING: Status.STREAM_PADDING,
}


class _Kind(NamedTuple):
    """What kind of completion is made.

    ``refused``: The checker refused the ticket.
    ``dropped``, ``late``: The ticket is completed without its stages; because of the watchdog.
    ``moved``, ``coded``: Its data were moved; and through the codec.
    """

    refused: Signal
    dropped: Signal
    late: Signal
    moved: Signal
    coded: Signal


class Completer(wiring.Component):
    """One completion per ticket. A descriptor that was started is complete when its reader, its writer and, unless its
    data passed around the codec, the codec have reported.

    The first cause in the order of :data:`~cdma.hdl.spec.records.CAUSES` counts: causes that leave data
    unwritten rank above those of data that are written and wrong.

    The numbers of a completion are calculated a byte at a time, with one subtractor, and kept with the ticket. A
    completion is shown 13 cycles after its ticket can be completed, straight from the ticket, which goes a cycle after
    the completion is accepted.

    ``padded``: Streams have padding, which may be wrong.
    ``pipelined``: What is subtracted goes through registers, for an FPGA. A completion takes as long without them.
    ``options``: What completions have: there is a CRC of the data of each descriptor that was started. Unless they are
        ``timed``, their cycles are 0, and a completion is shown four cycles earlier.
    ``ranged``: There is a report of the numbers of each descriptor that was started and has a step.
    ``code``: Of the memories. With one, a completion takes two cycles more, so that a lost word of its ticket is known.

    ``reported``: High while reader and writer are done with the ticket.
    ``report``: The codec's verdicts.
    ``crc``: The CRC of each descriptor's raw bytes, if there is one.
    ``range``: Those numbers of each descriptor with a step that are not within the bound, if ``ranged``.
    ``drop``: While high, tickets are completed without their stages. A refused ticket keeps the status it was refused
        with. Any other is completed as ``ABORTED`` or, if ``watchdog`` is high, as ``WATCHDOG``: with its
        ``write_address`` if ``at_write`` is high, with its ``read_address`` otherwise.
    ``hold``: Lets no completion begin while it is high and ``drop`` is low.
    ``lost``: With a ``code``: a word is lost. Every completion has the status ``MEMORY`` and no address, but for
        those that are ``ABORTED``; also while it is shown.
    ``stamp``, ``result``, ``result_place``: Write into the ticket: see :class:`~cdma.hdl.engine.channel.slots.Slots`.
    ``taken``: Pulse: a completion is shown from the next cycle on.
    ``failed``: The completion reports an error.
    ``late``: The completion that is made or shown is the watchdog's.
    ``words``, ``coded``: Raw words, and whether they went through the codec, valid with ``completion``.
    ``interrupt``: The completion counts towards the interrupt.
    """

    def __init__(
        self,
        read_address_bits: int,
        write_address_bits: int,
        *,
        padded: bool = False,
        pipelined: bool = False,
        options: RecordOptions = NO_OPTIONS,
        ranged: bool = False,
        code: str = "",
    ) -> None:
        self.padded = padded
        self.options = options
        self.code = code
        self.pipelined = pipelined
        #: The fields of a completion that it need not have.
        self._further = Completion(options).members
        super().__init__(
            {
                "tickets": In(
                    stream.Signature(Ticket(read_address_bits, write_address_bits, options, code=code))
                ),
                "reported": In(1),
                "report": In(stream.Signature(Verdict)),
                **optional(options.crc, crc=In(stream.Signature(CRC_BITS))),
                **optional(ranged, range=In(stream.Signature(OutOfRange()))),
                "completion": Out(stream.Signature(Completion(options))),
                "interrupt": Out(1),
                "words": Out(32),
                "coded": Out(1),
                **optional(options.timed, stamp=Out(1)),
                "result": Out(8),
                "result_place": Out(result_bytes(options)),
                "drop": In(1),
                "hold": In(1),
                **optional(code, lost=In(1)),
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
        reported = self.reported & (fields.raw | self.report.valid)
        crc, ranged = self._reports(m, "crc", CRC_BITS), self._reports(m, "range", OutOfRange())
        reported &= crc.valid & (~fields.lossy.any() | ranged.valid)
        m.d.comb += [refused.eq(~ticket.started), complete.eq(refused | reported)]

        kind = _Kind(refused, *(Signal(name=f"ticket_{name}") for name in _Kind._fields[1:]))
        m.d.comb += [
            kind.moved.eq(~refused & ~kind.dropped),
            kind.coded.eq(kind.moved & ~fields.raw),
            self.late.eq(kind.late),
        ]
        places = self._sequence(m, complete, kind)
        self._subtract(m, places, kind.moved)

        # All that the verdict follows from is there long before the completion is shown, so it is in registers.
        status = Signal(StatusShape)
        from_objection = Signal()
        from_read = Signal()
        from_write = Signal()
        moved = Signal()
        coded = Signal()
        m.d.sync += [moved.eq(kind.moved), coded.eq(kind.coded)]
        m.d.sync += [status.eq(Status.OK), from_objection.eq(0), from_read.eq(0), from_write.eq(0)]
        with m.If(refused):
            m.d.sync += [status.eq(fields.status), from_objection.eq(1)]
        with m.Elif(kind.dropped):
            m.d.sync += [
                status.eq(Mux(kind.late, Status.WATCHDOG, Status.ABORTED)),
                from_read.eq(kind.late & ~self.at_write),
                from_write.eq(kind.late & self.at_write),
            ]
        with m.Else():
            self._judge(m, status, from_read, from_write, crc, ranged)
        if self.code:
            # Also while it is shown: its numbers come from memories then, and its status is what is looked at last.
            with m.If(self.lost & (kind.late | ~kind.dropped)):
                m.d.sync += [
                    status.eq(Status.MEMORY),
                    from_objection.eq(0),
                    from_read.eq(0),
                    from_write.eq(0),
                ]
        noted = [(from_read, ticket.read_address), (from_write, ticket.write_address)]
        if self.code:
            checks = one_of((from_read, ticket.read_checks), (from_write, ticket.write_checks))
            sound, address = self._check(m, coding_of(platform), one_of(*noted), checks)
            noted = [((from_read | from_write) & sound, address)]
        m.d.comb += [
            completion.tag.eq(fields.tag),
            completion.literals.eq(Mux(coded, self.report.payload.literals, 0)),
            completion.bytes_read.eq(Mux(moved, ticket.bytes, 0)),
            completion.bytes_written.eq(ticket.written),
            completion.cycles.eq(ticket.cycles),
            completion.address.eq(one_of((from_objection, ticket.objection), *noted)),
            completion.status.eq(status),
            self.failed.eq(status != Status.OK),
            self.interrupt.eq(fields.interrupt | self.failed),
            self.words.eq(fields.words),
            self.coded.eq(coded),
            self.report.ready.eq(self.tickets.ready & coded),
        ]
        lossy = Signal()
        m.d.sync += lossy.eq(kind.moved & fields.lossy.any())
        further = {
            "crc": Mux(moved, crc.payload, 0),
            "range_count": Mux(lossy, ranged.payload.count, 0),
            "range_first": Mux(lossy, ranged.payload.first, 0),
        }
        m.d.comb += [
            crc.ready.eq(self.tickets.ready & moved),
            ranged.ready.eq(self.tickets.ready & lossy),
            *(completion[name].eq(value) for name, value in further.items() if name in self._further),
        ]
        return m

    def _check(self, m: Module, coding: PlainMemories, address: Value, checks: Value) -> tuple[Value, Value]:
        """Whether an address that is reported is not lost, and the address, corrected. It is in the ticket long before it is
        shown. What is wrong is counted with its completion."""
        syndrome = Signal(len(checks), name="address_syndrome")
        m.d.sync += syndrome.eq(address_checks(address, self.code) ^ checks)
        wrong, one = wrong_bits(syndrome, len(whole_address(address)), self.code)
        corrected, lost = Signal(name="address_corrected"), Signal(name="address_lost")
        m.d.comb += [
            corrected.eq(one & self.tickets.ready),
            lost.eq(syndrome.any() & ~one & self.tickets.ready),
        ]
        coding.add(self, corrected, lost)
        return one | ~syndrome.any(), address ^ wrong[: len(address)]

    def _reports(self, m: Module, name: str, shape: ShapeLike) -> stream.Interface:
        """The reports of that name; where there are none, 0 for each descriptor."""
        if name in self.signature.members:
            reports: stream.Interface = getattr(self, name)
            return reports
        none = stream.Signature(shape).create(path=(f"no_{name}",))
        m.d.comb += none.valid.eq(1)
        return none

    def _sequence(self, m: Module, complete: Signal, kind: _Kind) -> Signal:
        """Goes through the steps of a completion: the bytes of two numbers, of which the time, noted at the beginning,
        is the second; the last byte is read back; the completion is shown. Gives the byte, one bit each."""
        places = Signal(result_bytes(self.options))
        # The last byte is subtracted, and the ticket has it three cycles after it is written at the latest.
        passing = Signal(2 + 2 * bool(self.code))
        written = Signal()
        begin = Signal()
        # The ticket goes a cycle after its completion.
        accepted = Signal()
        m.d.comb += [
            begin.eq(
                self.tickets.valid
                & (self.drop | (complete & ~self.hold))
                & ~(places.any() | passing.any() | written | self.completion.valid | accepted)
            ),
            self.taken.eq(written),
            self.tickets.ready.eq(accepted),
        ]
        m.d.sync += [
            places.eq(Cat(begin, places)),
            accepted.eq(self.completion.valid & self.completion.ready),
            written.eq(passing[-1]),
            self.completion.valid.eq(written | (self.completion.valid & ~self.completion.ready)),
            passing.eq(Cat(places[-1], passing)),
        ]
        if self.options.timed:
            m.d.comb += self.stamp.eq(begin)
        with m.If(begin):
            m.d.sync += [
                kind.dropped.eq(self.drop),
                kind.late.eq(self.drop & self.watchdog & ~kind.refused),
            ]
        return places

    def _subtract(self, m: Module, places: Signal, moved: Signal) -> None:
        """A byte per cycle: where the packet ended less where it began, and the time likewise."""
        ticket = self.tickets.payload
        lengths = length_bytes(self.options)
        numbers = [(ticket.write_end, ticket.destination, lengths)]
        if self.options.timed:
            numbers.append((ticket.finish, ticket.start, CYCLES_BYTES))
        # On an FPGA selecting and subtracting take a cycle each.
        domain = Pace(m, self.pipelined).d
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
            domain += operand.eq(one_of(*zip(places, bytes_, strict=True)))
        if self.pipelined:
            following = Signal.like(places)
            m.d.sync += following.eq(places)
            places = following
        m.d.comb += [
            difference.eq(minuend - subtrahend - borrow),
            self.result.eq(Mux(moved | places[lengths:].any(), difference, 0)),
            self.result_place.eq(places),
        ]
        # Each number begins without a borrow, although the one before may leave one after its last byte.
        m.d.sync += borrow.eq(difference[-1] & ~places[lengths - 1] & ~places[-1])

    def _judge(
        self,
        m: Module,
        status: Signal,
        from_read: Signal,
        from_write: Signal,
        crc: stream.Interface,
        ranged: stream.Interface,
    ) -> None:
        """For a descriptor that was started and not dropped."""
        ticket, report = self.tickets.payload, self.report.payload
        # What they follow from is there early enough for a register.
        wrong_crc = Signal()
        beyond = Signal()
        m.d.sync += [
            wrong_crc.eq(ticket.fields.check_crc.any() & (ticket.fields.crc != crc.payload)),
            beyond.eq(ticket.fields.lossy.any() & (ranged.payload.count != 0)),
        ]
        with m.If(ticket.read_resp != Response.OKAY):
            m.d.sync += [
                status.eq(Mux(ticket.read_resp == Response.DECERR, Status.READ_DECERR, Status.READ_SLVERR)),
                from_read.eq(1),
            ]
        with m.Elif(~ticket.fields.raw & (report.error != Error.NONE)), m.Switch(report.error):
            for error, cause in _OF_STREAM.items():
                if self.padded or error != Error.PADDING:
                    with m.Case(error):
                        m.d.sync += status.eq(cause)
        with m.Elif(ticket.write_resp != Response.OKAY):
            m.d.sync += [
                status.eq(
                    Mux(ticket.write_resp == Response.DECERR, Status.WRITE_DECERR, Status.WRITE_SLVERR)
                ),
                from_write.eq(1),
            ]
        with m.Elif(ticket.overflow):
            m.d.sync += [status.eq(Status.CAPACITY), from_write.eq(1)]
        with m.Elif(wrong_crc):
            m.d.sync += status.eq(Status.CRC_MISMATCH)
        with m.Elif(beyond):
            m.d.sync += status.eq(Status.LOSSY_RANGE)
