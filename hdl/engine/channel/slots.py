"""The descriptors of a channel that are in flight, one slot each: what the checker found is kept here for every stage,
and what the stages report is kept for the completer."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import SPAN_BITS, Command, Outcome, address_check_bits, address_checks
from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.blocks.memories import CheckedOutside, coding_of
from cdma.hdl.blocks.serial_memory import SerialMemory
from cdma.hdl.engine.path.base import base_command
from cdma.hdl.engine.path.switches import Route
from cdma.hdl.spec.options import PAGE_LOG2
from cdma.hdl.spec.records import NO_OPTIONS, STEP_BITS, RecordOptions

from .tickets import (
    ADDRESS_BYTES,
    CYCLES_BYTES,
    SlotPort,
    Ticket,
    length_bytes,
    noted_bits,
    result_bytes,
)


class _Walk:
    """A position in the slots, up to another one.

    ``position``: The slot. What lies there is in the read registers of the memories while ``stays`` is high, and
        checked as well while ``valid`` is.
    ``next``: The slot that memories are to read.
    ``step``: Goes on to the following slot, ``following``.
    ``lost``: A word that lies there is lost: one of memories with these ``lines``, where memories are coded.
    """

    def __init__(self, m: Module, name: str, ahead: Signal) -> None:
        self.lost = Signal(name=f"{name}_lost")
        self.lines: list[Signal] = []
        self.position = Signal.like(ahead, name=f"{name}_position")
        self.next = Signal.like(ahead, name=f"{name}_next")
        self.stays = Signal(name=f"{name}_stays")
        self.valid = Signal(name=f"{name}_valid")
        self.step = Signal(name=f"{name}_step")
        self.following = following = Signal.like(ahead, name=f"{name}_following")
        m.d.comb += [
            following.eq(self.position + 1),
            self.next.eq(Mux(self.step, following, self.position)),
            self.valid.eq(self.stays),
        ]
        # ``step`` comes late, so both cases are compared beforehand.
        here = Signal(name=f"{name}_here")
        m.d.sync += [
            self.position.eq(self.next),
            here.eq(Mux(self.step, following != ahead, self.position != ahead)),
            self.stays.eq(here & ~self.step),
        ]

    def give(self, m: Module, sink: stream.Interface, *, coded: bool) -> None:
        """Makes a stream of what lies there; with ``coded`` memories of what is not lost."""
        there = self.valid & ~self.lost if coded else self.valid
        m.d.comb += [sink.valid.eq(there), self.step.eq(there & sink.ready)]


def _extended(address: Value, bits: int, most: int) -> Value:
    """An address of so many bits, with its checks, as one of ``most`` bits."""
    return Cat(address[:bits], C(0, most - bits), address[bits:])


class _Counts(NamedTuple):
    """Numbers of slots.

    ``head``: Slots of the tickets.
    ``started``: Those among them that were started: the stages know only these.
    ``read_done``, ``write_done``: Those that the reader and the writer are done with.
    ``front``: The oldest ticket.
    ``oldest``: The oldest ticket that was started.
    """

    head: Signal
    started: Signal
    read_done: Signal
    write_done: Signal
    front: _Walk
    oldest: _Walk


class Slots(wiring.Component):
    """``depth`` slots, a power of two, in the order of the descriptors: the reader's commands, the codec's routes and
    the writer's commands each as a stream, and the tickets.

    Everything lies in memories with one write port and one clocked, non-transparent read port. What is pushed is
    at the streams, and what is written in one cycle is in the ticket, three cycles later at the latest.

    ``pipelined``: What is written into the memories, and the addresses that they are read at, go through registers, for
        an FPGA, whose wires to all memories are slow.

    ``counted``: ``end`` says the bytes of the packet, and not where it ended.
    ``compressing``: Device memory is read, and not written: its commands have the flags of shapes, the others lists of
        pages.
    ``options``: Tickets have what these need, and with a lossy stage there is its command, ``step``. Unless they are
        ``timed``, there are no ``now`` and ``stamp``, and ``start``, ``finish`` and ``cycles`` of tickets are 0.
    ``tail_bits``: Those of the tail of a route: see :class:`.Route`.
    ``code``: Of the memories; none if empty.
    ``checked``: That of the addresses of the outcomes that are read, and of those that are written.

    ``read``, ``step``, ``route``, ``write``: The commands of the stages.
    ``base``, ``base_outcome``, ``base_waits``: With ``options.delta``: the commands of the reader of bases, its outcomes,
        and whether the source's reader waits for nothing, so that a silent port is that of the base.
    ``read_outcome``, ``write_outcome``, ``overflow``: What the stages report.
    ``ahead``: A command follows the one at ``write``, and its slot is ``early``. Low in a command's first two cycles.
    ``end``: Where the packet ended, when the command at ``write`` is taken; with ``end_when_done``, with
        ``write_outcome.done``.
    ``tickets``: The oldest ticket.
    ``reported``: High once reader and writer are done with that ticket. Its ``resp``, addresses, ``overflow`` and
        ``write_end`` are valid only then, and only where the slot was not refused.
    ``now``: The time.
    ``stamp``: Notes the time as the ticket's ``finish``.
    ``result``, ``result_place``: A byte of the ticket's ``written`` and, after it, ``cycles``, and which one it is, one
        bit per byte.
    ``at_stages``: While high, the addresses in the ticket are those that the stages noted for their oldest command,
        which may not be the ticket's.
    ``empty``: High while no slot is in use, and low from the push on.
    ``lost``: With a ``code``: a word of a command is lost, which is given to no stage, or one of the oldest
        ticket. Words of slots that are not in use do not matter: they are written before they are.
    """

    def __init__(
        self,
        read_address_bits: int,
        write_address_bits: int,
        depth: int,
        *,
        pipelined: bool = False,
        end_when_done: bool = False,
        counted: bool = False,
        compressing: bool = True,
        options: RecordOptions = NO_OPTIONS,
        tail_bits: int = 0,
        code: str = "",
        checked: tuple[str, str] = ("", ""),
    ) -> None:
        assert depth.bit_count() == 1, depth
        self.read_address_bits = read_address_bits
        self.write_address_bits = write_address_bits
        self.depth = depth
        self.options = options
        self.pipelined = pipelined
        self.end_when_done = end_when_done
        self.lossy = options.lossy
        self.shapes = bool(options.dimensions)
        self.counted = counted
        self.compressing = compressing
        self.code = code
        dev_bits = self.base_address_bits = read_address_bits if compressing else write_address_bits
        self.noted_bits = noted_bits(read_address_bits, dev_bits, options)
        commands = []
        for bits, device in ((read_address_bits, compressing), (write_address_bits, not compressing)):
            shaped = ("shaped",) * (self.shapes and device)
            pages = (bits - PAGE_LOG2) * (options.pages and not device)
            commands.append(Command(bits, *shaped, pages=pages, user=options.tag_bits))
        super().__init__(
            {
                "input": In(SlotPort(options, tail_bits)),
                "read": Out(stream.Signature(commands[0])),
                **optional(options.lossy, step=Out(stream.Signature(STEP_BITS))),
                "route": Out(stream.Signature(Route(tail_bits))),
                "write": Out(stream.Signature(commands[1])),
                **optional(
                    options.delta,
                    base=Out(stream.Signature(base_command(dev_bits, options.tag_bits))),
                    base_outcome=In(Outcome(dev_bits, checked=checked[0 if compressing else 1])),
                    base_waits=In(1),
                ),
                "ahead": Out(1),
                "end": In(SPAN_BITS),
                "read_outcome": In(Outcome(read_address_bits, checked=checked[0])),
                "write_outcome": In(Outcome(write_address_bits, checked=checked[1])),
                "overflow": In(1),
                "tickets": Out(
                    stream.Signature(Ticket(self.noted_bits, write_address_bits, options, code=code))
                ),
                "reported": Out(1),
                **optional(options.timed, now=In(32), stamp=In(1)),
                "result": In(8),
                "result_place": In(result_bytes(options)),
                "at_stages": In(1),
                **optional(code, lost=Out(1)),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        checked = self.input
        self._coding = coding_of(platform)
        #: A word of a command that a stage waits for is lost.
        self.lost_command = Signal(name="lost_command")
        #: A word of the outcome of the oldest ticket's base is lost.
        self.lost_base: Value = C(0, 0)
        counts = self._count(m)
        write = self._give_commands(m, checked, counts)
        self._keep_checked(m, checked, counts)
        self._keep_outcomes(m, counts, write)
        self._keep_results(m, counts)
        if self._coding.coded:
            front, oldest = counts.front, counts.oldest
            m.d.comb += [
                front.lost.eq(front.valid & Cat(front.lines).any()),
                # What the stages note of a ticket is there once it is reported.
                oldest.lost.eq(self.reported & Cat(*oldest.lines, self.lost_base).any()),
                self.lost.eq(self.lost_command | front.lost | oldest.lost),
            ]
        return m

    def _count(self, m: Module) -> _Counts:
        checked, ticket = self.input, self.tickets.payload
        head = Signal(range(2 * self.depth))
        started = Signal(range(2 * self.depth))
        read_done = Signal.like(head)
        write_done = Signal.like(head)
        starts = Signal()
        front = _Walk(m, "ticket", head)
        oldest = _Walk(m, "reported", read_done)
        written = Signal()
        done: Value = oldest.valid & written
        if self.options.delta:
            done &= ~ticket.fields.delta | self._count_bases(m, oldest)
        m.d.comb += [
            starts.eq(checked.push & checked.starts),
            self.tickets.valid.eq(front.valid),
            front.step.eq(self.tickets.valid & self.tickets.ready),
            oldest.step.eq(front.step & ticket.started),
            self.reported.eq(done),
        ]
        m.d.sync += [
            head.eq(head + checked.push),
            started.eq(started + starts),
            read_done.eq(read_done + self.read_outcome.done),
            write_done.eq(write_done + self.write_outcome.done),
        ]
        free, vacant = head != front.position ^ self.depth, head == front.position
        # From registers, which know of a push at once.
        none = Signal(name="none", init=1)
        m.d.comb += self.empty.eq(none)
        early = Signal(name="written_early")
        m.d.sync += [
            checked.ready.eq(free & ~checked.push),
            none.eq(vacant & ~checked.push),
            early.eq(oldest.next != write_done),
            written.eq(early & ~oldest.step),
        ]
        return _Counts(head, started, read_done, write_done, front, oldest)

    def _count_bases(self, m: Module, oldest: _Walk) -> Signal:
        """Counts the bases that are read, and those whose tickets are done; whether one more is read."""
        self.base_done = Signal(range(2 * self.depth), name="base_done")
        self.base_next = Signal.like(self.base_done, name="base_next")
        position = Signal.like(self.base_done, name="base_position")
        early, done = Signal(name="base_early"), Signal(name="base_is_read")
        m.d.comb += self.base_next.eq(position + (oldest.step & self.tickets.payload.fields.delta))
        m.d.sync += [
            self.base_done.eq(self.base_done + self.base_outcome.done),
            position.eq(self.base_next),
            early.eq(self.base_next != self.base_done),
            done.eq(early & ~oldest.step),
        ]
        return done

    def _keep(
        self,
        m: Module,
        name: str,
        write_at: Value,
        read_at: Value,
        value: Value,
        enable: Value | int,
        lines: list[Signal] | None = None,
        reads: Value | int = 1,
        checks: int = 0,
    ) -> Value:
        """A memory with a word per slot, read while ``reads`` is high; each bit of ``enable`` writes its part of the word.
        Whoever gives ``lines`` takes the line of the memory, if that is coded: words of a slot are read, too, which nobody
        has written. A ``value`` may have ``checks`` of its own already."""
        memory = Memory(shape=len(value), depth=self.depth, init=[], attrs=optional(checks, checks=checks))
        m.submodules[name] = CheckedOutside(memory) if checks else memory
        if lines is not None and self._coding.coded:
            lines.append(self._coding.watch(memory))
        write = memory.write_port(granularity=len(value) // len(Value.cast(enable)))
        read = memory.read_port(domain="sync")
        pace = Pace(m, self.pipelined)
        address = pace.late(read_at[: len(read.addr)], f"{name}_at")
        pace.d += [
            write.addr.eq(write_at[: len(write.addr)]),
            write.data.eq(value),
            write.en.eq(enable),
        ]
        m.d.comb += [
            read.addr.eq(address),
            read.en.eq(reads),
        ]
        return read.data

    def _keep_parts(
        self,
        m: Module,
        name: str,
        walk: _Walk,
        write_at: Value,
        words: dict[str, tuple[Value, Value]],
        *,
        part: int = 8,
        soon: bool = False,
    ) -> dict[str, Value]:
        """A memory with the ``words`` of each slot, whose parts of so many bits are written one by one; the words where the
        ``walk`` is. It goes on once they are checked, one part after the other, or all at once and ``soon``. A part is
        written to all parts of its word that are enabled."""
        data: list[Value] = []
        for value, enable in words.values():
            size = len(enable)
            data += [value] * size if len(value) == part else [value, C(0, part * size - len(value))]
        enables = Cat(enable for _, enable in words.values())
        if soon:
            word = self._keep(m, name, write_at, walk.next, Cat(data), enables, walk.lines)
        else:
            word = self._keep_serially(m, name, walk, write_at, Cat(data), enables)
        stored = {}
        for each, (_, enable) in words.items():
            stored[each], word = word[: part * len(enable)], word[part * len(enable) :]
        return stored

    def _keep_serially(
        self, m: Module, name: str, walk: _Walk, write_at: Value, value: Value, enable: Value
    ) -> Value:
        """A memory with a word per slot, of parts that are checked one after the other, if they are."""
        if not self._coding.coded:
            m.d.comb += walk.valid.eq(walk.stays)
            return self._keep(m, name, write_at, walk.next, value, enable, reads=~walk.stays)
        m.submodules[name] = memory = SerialMemory(len(value) // len(enable), len(enable), self.depth)
        pace = Pace(m, self.pipelined)
        pace.d += [memory.at.eq(write_at), memory.data.eq(value), memory.enable.eq(enable)]
        m.d.comb += [
            memory.of.eq(pace.late(walk.next[: len(memory.of)], f"{name}_of")),
            memory.stays.eq(walk.stays),
            walk.valid.eq(walk.stays & memory.checked),
        ]
        walk.lines.append(memory.lost)
        return memory.word

    def _give_commands(self, m: Module, checked: wiring.PureInterface, counts: _Counts) -> _Walk:
        """The streams of the stages; gives the walk of the writer's."""
        started, coded = counts.started, self._coding.coded
        read, route, write = (_Walk(m, name, started) for name in ("read", "route", "write"))
        walks, sinks = [read, route, write], [self.read, self.route, self.write]
        commands = [
            ("read", read, self.read, checked.source, self.read_address_bits),
            ("write", write, self.write, checked.destination, self.write_address_bits),
        ]
        if self.options.delta:
            base = _Walk(m, "base", started)
            walks.append(base)
            sinks.append(self.base)
            commands.append(("base", base, self.base, checked.base, self.base_address_bits))
        for walk, sink in zip(walks, sinks, strict=True):
            walk.give(m, sink, coded=coded)
        for name, walk, sink, enable, bits in commands:
            places = Mux(enable, checked.place[: -(-bits // 8)], 0)
            words = {"ends": (Cat(checked.first, checked.last), places)}
            for flag in ("delta", "shaped", "pages", "user"):
                if flag in sink.payload.shape().members and len(sink.payload[flag]):
                    value = getattr(checked, flag)[: len(sink.payload[flag])]
                    words[flag] = value, checked.push.replicate(-(-len(value) // 16))
            # Beats of a packet may be there before its command, which must follow at once.
            soon = sink is self.write
            stored = self._keep_parts(m, f"{name}_commands", walk, started, words, part=16, soon=soon)
            ends = stored.pop("ends")
            for side, end in enumerate(("first", "last")):
                stored[end] = Cat(ends.word_select(2 * place + side, 8) for place in range(len(places)))
            m.d.comb += [sink.payload[word].eq(value) for word, value in stored.items()]
        stored = self._keep(
            m, "routes", started, route.next, checked.route.as_value(), checked.push, route.lines
        )
        m.d.comb += self.route.payload.eq(stored)
        if self.lossy:
            step = _Walk(m, "step", started)
            walks.append(step)
            step.give(m, self.step, coded=coded)
            m.d.comb += self.step.payload.eq(
                self._keep(m, "steps", started, step.next, checked.step, checked.push, step.lines)
            )
        more = Signal()
        soon = Signal()
        follows = Signal()
        m.d.comb += more.eq(write.valid & ~write.step & (write.following != started))
        # A cycle longer than the memory takes, also if that is late.
        m.d.sync += [soon.eq(more), follows.eq(soon & more)]
        unknown: list[Signal] = []
        early = self._keep(m, "early", started, write.following, checked.early, checked.push, unknown)
        # As late as what is read, and nothing of a command that was taken meanwhile.
        stepped = Signal()
        ahead = Signal(name="may_be_ahead")
        m.d.sync += [stepped.eq(write.step), ahead.eq(follows & ~stepped)]
        m.d.comb += self.ahead.eq(ahead & early[0] & ~unknown[0] if coded else ahead & early[0])
        if coded:
            m.d.comb += [walk.lost.eq(Cat(walk.lines).any()) for walk in walks]
            m.d.comb += self.lost_command.eq(Cat(walk.valid & walk.lost for walk in walks).any())
        return write

    def _keep_checked(self, m: Module, checked: wiring.PureInterface, counts: _Counts) -> None:
        """What the ticket has from the checker. An objection lies where the numbers of a descriptor that is started do."""
        ticket, place = self.tickets.payload, checked.place
        lengths, counted = length_bytes(self.options), self.counted
        count = checked.moved if self.shapes else checked.count
        kinds = [(count, checked.source), (checked.first, checked.destination)][: 1 if counted else 2]
        written = [(value, enable & place[index]) for value, enable in kinds for index in range(lengths)]
        written += [(C(0, 8), C(0))] * (ADDRESS_BYTES - len(written))
        values, enables = ([each[side] for each in written] for side in range(2))
        for index in range(ADDRESS_BYTES):
            values[index] = Mux(checked.objection, checked.last, values[index])
            enables[index] |= checked.objection & place[index]
        fields = Cat(checked.fields, checked.starts)
        words = {
            "numbers": (Cat(values), Cat(enables)),
            "fields": (fields, checked.push.replicate(-(-len(fields) // 8))),
        }
        if self.options.timed:
            words["start"] = self.now, checked.begin.replicate(CYCLES_BYTES)
        stored = self._keep_parts(m, "tickets", counts.front, counts.head, words)
        numbers = stored.pop("numbers")
        m.d.comb += [
            ticket.objection.eq(numbers),
            ticket.bytes.eq(numbers),
            ticket.destination.eq(0 if counted else numbers[8 * lengths :]),
            Cat(ticket.fields, ticket.started).eq(stored.pop("fields")),
            *(ticket[name].eq(value) for name, value in stored.items()),
        ]

    def _keep_outcomes(self, m: Module, counts: _Counts, write: _Walk) -> None:
        """What the ticket has from the stages."""
        ticket = self.tickets.payload
        read_done, write_done, oldest = counts.read_done, counts.write_done, counts.oldest.next
        read_outcome, write_outcome = self.read_outcome, self.write_outcome
        kept: dict[str, Value] = {}
        for name, outcome, done in (
            ("read", read_outcome, read_done),
            ("write", write_outcome, write_done),
        ):
            kept[name] = self._keep_address(m, name, outcome, done, oldest)
        read_resp = read_outcome.resp.as_value()
        write_resp = Cat(write_outcome.resp, self.overflow)
        ended, ends = (write_done, write_outcome.done) if self.end_when_done else (write.position, write.step)
        lines = counts.oldest.lines
        read_resp = self._keep(m, "read_resps", read_done, oldest, read_resp, read_outcome.done, lines)
        if self.options.delta:
            kept["read"], read_resp = self._keep_bases(m, kept["read"], read_resp)
        m.d.comb += [
            *(Cat(ticket[f"{name}_address"], ticket[f"{name}_checks"]).eq(kept[name]) for name in kept),
            ticket.read_resp.eq(read_resp),
            Cat(ticket.write_resp, ticket.overflow).eq(
                self._keep(m, "write_resps", write_done, oldest, write_resp, write_outcome.done, lines)
            ),
            ticket.write_end.eq(
                self._keep(m, "ends", ended, oldest, self.end[: self.options.length_bits + 1], ends, lines)
            ),
        ]

    def _keep_address(
        self, m: Module, name: str, outcome: wiring.PureInterface, done: Value, ticket_at: Value
    ) -> Value:
        """The address that a stage has noted for the ticket, or for its own oldest command; with its check bits."""
        address = outcome.address
        if self.code:
            checks = outcome.checks if len(outcome.checks) else address_checks(address, self.code)
            address = Cat(address, checks)
        return self._keep(
            m,
            f"{name}_addresses",
            done,
            Mux(self.at_stages, done, ticket_at),
            address,
            outcome.note,
            checks=address_check_bits(self.code),
        )

    def _keep_bases(self, m: Module, address: Value, resp: Value) -> tuple[Value, Value]:
        """The address and the response of what was read: of the source or, where that has no error, of the base."""
        outcome, done, ticket_at = self.base_outcome, self.base_done, self.base_next
        delta, of_base = self.tickets.payload.fields.delta, Signal(name="error_of_base")
        lines: list[Signal] = []
        of_source = _extended(address, self.read_address_bits, self.noted_bits)
        noted = self._keep_address(m, "base", outcome, done, ticket_at)
        noted = _extended(noted, self.base_address_bits, self.noted_bits)
        base_resp = self._keep(m, "base_resps", done, ticket_at, outcome.resp.as_value(), outcome.done, lines)
        if self._coding.coded:
            self.lost_base = Signal(name="lost_base")
            m.d.comb += self.lost_base.eq(delta & Cat(lines).any())
        m.d.comb += of_base.eq(Mux(self.at_stages, self.base_waits, delta & ~resp[1] & base_resp[1]))
        return Mux(of_base, noted, of_source), Mux(of_base, base_resp, resp)

    def _keep_results(self, m: Module, counts: _Counts) -> None:
        """What the ticket has from the completer."""
        ticket, front = self.tickets.payload, counts.front
        value, enable = self.result.replicate(len(self.result_place)), self.result_place
        if self.options.timed:
            value, enable = Cat(value, self.now), Cat(enable, self.stamp.replicate(CYCLES_BYTES))
        # They are read while they are written, which leaves no time for checks a byte at a time.
        results = self._keep(m, "results", front.position, front.next, value, enable, front.lines)
        after = results[8 * length_bytes(self.options) :]
        m.d.comb += [ticket.written.eq(results), Cat(ticket.cycles, ticket.finish).eq(after)]
