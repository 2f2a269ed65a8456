"""Reads the list of pages of a descriptor. Makes a command for each page of a descriptor's host memory."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import Command, PortShape, ReadPort, Response
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.spec.options import ENTRY_BYTES, LIST_BURSTS, MOST_PAGED, PAGE_BYTES, PAGE_LOG2
from cdma.hdl.spec.registers.description import REGISTER_BITS

ENTRIES_LOG2 = (MOST_PAGED // PAGE_BYTES - 1).bit_length()
#: Beats of a read of entries.
_BURST = 4
_ENTRY_BITS = 8 * ENTRY_BYTES

#: What an entry says, whether it could be read, and whether it is the last one.
ListEntry = data.StructLayout({"address": _ENTRY_BITS, "resp": Response, "last": 1})


class ListRequest(data.StructLayout):
    """The number of the page that a list is in, and the entries of it, less one."""

    def __init__(self, address_bits: int) -> None:
        super().__init__({"page": address_bits - PAGE_LOG2, "last": ENTRIES_LOG2})


class PageList(wiring.Component):
    """Reads one list after the other, ahead of those who take its entries.

    ``request``: A list is begun, when nothing is left of the one before. The payload stays as it is until the next one
        may begin.
    ``user``: With ``request``, and as long: the user bits of its addresses.
    ``entries``: Its entries. From one that could not be read on none is right.
    ``fault``: The address of the first beat that could not be read, with such an entry.
    ``drop``: What is left of the list, if anything is, is given up: no read of it begins any more.
    ``port``: The AXI4 port.
    ``flush``, ``idle``, ``progress``: Those of an :class:`.AxiReader`.
    ``at``: For a watchdog: the address that the next beat will be from.
    """

    def __init__(self, data_bits: int, address_bits: int, user_bits: int = 0) -> None:
        self.shape = PortShape(
            word_bits=_ENTRY_BITS,
            data_bits=data_bits,
            address_bits=address_bits,
            burst=_BURST,
            outstanding=LIST_BURSTS,
            buffer=LIST_BURSTS * _BURST,
            of_addresses=True,
            span_bits=PAGE_LOG2,
            contained=True,
            user_bits=user_bits,
        )
        super().__init__(
            {
                "request": In(stream.Signature(ListRequest(address_bits))),
                "entries": Out(stream.Signature(ListEntry)),
                "fault": Out(address_bits),
                "drop": In(1),
                "user": In(user_bits),
                "port": Out(ReadPort(data_bits, address_bits, user_bits=user_bits)),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "at": Out(address_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reader = AxiReader(self.shape)
        #: The list is given up, and nothing of it is in flight any more: the reader forgets it.
        forgets = Signal()
        m.submodules.reader = ResetInserter(forgets)(reader)
        wiring.connect(m, reader.port, wiring.flipped(self.port))
        wanted = self.request.payload
        #: A list is read; its last address is not taken.
        busy = Signal()
        asks = Signal()
        begins = Signal()
        over = Signal()
        #: The list is given up.
        drops = Signal()
        dropped = Signal()
        m.d.comb += [
            drops.eq(self.drop | dropped),
            begins.eq(self.request.valid & self.request.ready),
            self.request.ready.eq(~busy),
            reader.command.valid.eq(asks),
            reader.command.payload.first.eq(Cat(C(0, PAGE_LOG2), wanted.page)),
            reader.command.payload.last.eq(Cat(C(ENTRY_BYTES - 1, 3), wanted.last, wanted.page)),
            reader.flush.eq(self.flush | drops),
            self.idle.eq(reader.idle),
            self.progress.eq(reader.progress),
            self.at.eq(reader.outcome.address),
            reader.command.payload.user.eq(self.user),
        ]
        m.d.sync += [dropped.eq(drops & busy & ~over), forgets.eq(drops & over)]
        with m.If(begins):
            m.d.sync += [busy.eq(1), asks.eq(1)]
        with m.Elif(over):
            m.d.sync += [busy.eq(0), asks.eq(0)]
        with m.Elif(reader.command.ready):
            m.d.sync += asks.eq(0)
        sound, resp = self._judge(m, reader, wanted.page, over)
        source, entry = reader.output, self.entries
        lanes = self.shape.lanes
        lane = Signal(range(max(2, lanes)))
        words = Signal.like(source.payload.keep)
        taken = Signal()
        m.d.comb += [
            words.eq(source.payload.keep >> lane),
            entry.valid.eq(source.valid & ~drops),
            entry.payload.address.eq(source.payload.data.as_value().word_select(lane, _ENTRY_BITS)),
            entry.payload.resp.eq(Mux(sound != 0, Response.OKAY, resp)),
            # The last entry of the last beat; and of any, or all of it.
            entry.payload.last.eq(source.payload.last & ~words[1:].any()),
            taken.eq(entry.valid & entry.ready),
            source.ready.eq(taken & ~words[1:].any()),
            over.eq(Mux(drops, busy & reader.idle, source.valid & source.ready & source.payload.last)),
        ]
        with m.If((source.valid & source.ready) | over):
            m.d.sync += lane.eq(0)
        with m.Elif(taken):
            m.d.sync += lane.eq(lane + 1)
        return m

    def _judge(self, m: Module, reader: AxiReader, page: Value, over: Signal) -> tuple[Signal, Signal]:
        """Counts the beats in the buffer that are right; gives that and the response to the first that was not."""
        r, source, beat_log2 = self.port.r, reader.output, self.shape.blocks.beat_log2
        #: The beat of the page with that response.
        at = Signal(PAGE_LOG2 - beat_log2, reset_less=True)
        spoilt = Signal()
        resp = Signal(Response, reset_less=True)
        sound = Signal(range(self.shape.buffer + 1))
        comes = Signal()
        wrong = Signal()
        leaves = Signal()
        m.d.comb += [
            comes.eq(r.valid & r.ready & ~spoilt),
            wrong.eq(comes & r.payload.resp.as_value()[1]),
            leaves.eq(source.valid & source.ready & (sound != 0)),
            self.fault.eq(Cat(C(0, beat_log2), at, page)),
        ]
        with m.If(wrong):
            m.d.sync += [
                spoilt.eq(1),
                resp.eq(r.payload.resp),
                at.eq(reader.outcome.address[beat_log2:PAGE_LOG2]),
            ]
        m.d.sync += sound.eq(sound + (comes & ~wrong) - leaves)
        with m.If(over):
            m.d.sync += [spoilt.eq(0), sound.eq(0)]
        return sound, resp


#: Cycles of a check of a page.
_CHECK = 5

#: Why the pages of a descriptor end too early, and the address of that; OKAY if they do not.
PageFault = data.StructLayout({"resp": Response, "address": 64})


class PageWindow(wiring.Signature):
    """How the window of host memory is read, as a :class:`~cdma.hdl.engine.channel.interfaces.WindowPort` is: the half that
    is asked for, and then ``base`` and ``limit``; of several pairs that of one, which the
    owner of a command has in its upper bits."""

    def __init__(self, pair_bits: int = 0) -> None:
        super().__init__(
            {
                "high": Out(1),
                "pair": Out(pair_bits),
                "base": In(REGISTER_BITS),
                "limit": In(REGISTER_BITS),
            }
        )


class PageWalk(wiring.Component):
    """Takes a command for each descriptor. One with ``pages`` says its bytes as if its pages followed one another. It
    becomes a command for each page; any other passes on as it is.

    A page, and the list itself, must be inside the window. The first one that is not, or that could not be read, ends the
    pages: the command before it is the last one, without ``more``. Which command that is is known only then, so a page is
    given when the next one has been looked at.

    ``command``: One for each page, each but the last one of a packet with ``more``.
    ``request``, ``entries``, ``fault``, ``drop``: Those of a :class:`.PageList`.
    ``window``: That of host memory.
    ``skip``: The packet has ended: what is left of its pages is passed over. Only while no command is offered.
    ``faults``: One for each descriptor, when its last command is first offered: a reader may have done with it soon
        after it takes that.
    """

    def __init__(self, address_bits: int, user_bits: int = 0, pair_bits: int = 0) -> None:
        self.address_bits = address_bits
        self.user_bits = user_bits
        self.pair_bits = pair_bits
        given = Command(address_bits, pages=address_bits - PAGE_LOG2, user=user_bits)
        super().__init__(
            {
                "input": In(stream.Signature(given)),
                "command": Out(stream.Signature(Command(address_bits, "more", user=user_bits))),
                "request": Out(stream.Signature(ListRequest(address_bits))),
                "entries": In(stream.Signature(ListEntry)),
                "fault": In(address_bits),
                "drop": Out(1),
                "window": Out(PageWindow(pair_bits)),
                "skip": In(1),
                "faults": Out(stream.Signature(PageFault, always_ready=True)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given, command, fault, entry = self.input.payload, self.command, self.faults.payload, self.entries
        in_page, pages = slice(0, PAGE_LOG2), slice(PAGE_LOG2, PAGE_LOG2 + ENTRIES_LOG2 + 1)
        #: The page that is looked at, which is that of the list or the oldest entry; the page of the command.
        page = Signal(64)
        of_list = Signal()
        run = Signal(self.address_bits - PAGE_LOG2, reset_less=True)
        further = Signal(ENTRIES_LOG2 + 1)
        begins = Signal()
        #: No page is to come after that of the command.
        complete = Signal()
        #: Why the pages end, and whether the list is the cause.
        resp = Signal(Response)
        unread = Signal()
        step = Signal(range(_CHECK))
        #: The last command is offered; it was in the cycle before; it is taken, and what is left of the list is not over.
        lasts = Signal()
        told = Signal()
        taken = Signal()
        over = Signal()
        listed = Signal()
        outside = self._check(m, page, step)
        m.d.comb += [
            page.eq(Mux(of_list, Cat(C(0, PAGE_LOG2), given.pages), entry.payload.address)),
            further.eq(given.last[pages] - given.first[pages]),
            listed.eq(given.pages.any()),
            command.payload.first.eq(Cat(Mux(begins, given.first[in_page], 0), run)),
            command.payload.last[in_page].eq(Mux(complete, given.last[in_page], (1 << PAGE_LOG2) - 1)),
            command.payload.last[PAGE_LOG2:].eq(Mux(listed, run, given.last[PAGE_LOG2:])),
            command.payload.user.eq(given.user),
            self.window.pair.eq(given.user[len(given.user) - self.pair_bits :]),
            self.request.payload.page.eq(given.pages),
            self.request.payload.last.eq(further - 1),
            fault.resp.eq(resp),
            # An address beyond those of the port is cut: bit 0 tells that it is none of a page.
            fault.address.eq(
                Mux(unread, self.fault, Cat(page[0] | page[self.address_bits :].any(), page[1:]))
            ),
            self.faults.valid.eq(lasts & ~told),
        ]
        m.d.sync += told.eq(lasts & ~command.ready)
        with m.FSM():
            with m.State("idle"):
                m.d.sync += [
                    of_list.eq(1),
                    run.eq(given.first[PAGE_LOG2:]),
                    begins.eq(1),
                    complete.eq(~listed | (further == 0)),
                    resp.eq(Response.OKAY),
                    unread.eq(0),
                ]
                with m.If(self.input.valid):
                    m.next = "check"
                    with m.If(~listed | (further == 0)):
                        m.next = "final"
            with m.State("check"):
                m.d.sync += step.eq(step + 1)
                with m.If(step == _CHECK - 1):
                    m.d.sync += step.eq(0)
                    m.next = "give"
                    with m.If(of_list):
                        m.next = "request"
                    with m.If(outside):
                        m.d.sync += resp.eq(Response.DECERR)
                        m.next = "final"
                with m.If(self.skip & ~of_list):
                    m.d.sync += step.eq(0)
                    m.next = "final"
            with m.State("request"):
                m.d.comb += self.request.valid.eq(1)
                m.d.sync += of_list.eq(0)
                with m.If(self.request.ready):
                    m.next = "entry"
            with m.State("entry"):
                with m.If(self.skip):
                    m.next = "final"
                with m.Elif(entry.valid):
                    m.next = "check"
                    with m.If(entry.payload.resp.as_value()[1]):
                        m.d.sync += [resp.eq(entry.payload.resp), unread.eq(1)]
                        m.next = "final"
            with m.State("give"):
                m.d.comb += [
                    command.valid.eq(1),
                    command.payload.more.eq(1),
                    entry.ready.eq(command.ready),
                ]
                with m.If(command.ready):
                    m.d.sync += [run.eq(page[PAGE_LOG2:]), begins.eq(0), complete.eq(entry.payload.last)]
                    m.next = "entry"
                    with m.If(entry.payload.last):
                        m.next = "final"
            with m.State("final"):
                m.d.comb += [
                    command.valid.eq(~taken),
                    self.drop.eq(1),
                    over.eq((taken | command.ready) & self.request.ready),
                    self.input.ready.eq(over),
                    lasts.eq(~taken),
                ]
                m.d.sync += taken.eq((taken | command.ready) & ~over)
                with m.If(over):
                    m.next = "idle"
        return m

    def _check(self, m: Module, page: Signal, step: Signal) -> Signal:
        """Whether a page is none, or is not inside the window: a half of the address after the other, known with the last
        step."""
        window = self.window
        low, high = page[:REGISTER_BITS], page[REGISTER_BITS:]
        outside = Signal()
        #: So far the page is not below the base; and not above the limit.
        reaches = Signal()
        fits = Signal()
        strays = page[:PAGE_LOG2].any() | page[self.address_bits :].any()
        from_base = self._carry(m, "from_base", Mux(step == 1, low, high), window.base, reaches | (step == 1))
        to_limit = self._carry(m, "to_limit", window.limit, Mux(step == 2, low, high), fits | (step == 2))
        m.d.comb += window.high.eq(step == 1)
        # The base of a half is known a step after that is asked for, and its limit two.
        with m.If((step == 1) | (step == 2)):
            m.d.sync += reaches.eq(from_base)
        m.d.sync += [fits.eq(to_limit), outside.eq(strays | ~reaches | ~to_limit)]
        return outside

    def _carry(self, m: Module, name: str, value: Value, less: Value, carry: Value) -> Value:
        """Whether a difference is not below 0, with that of its lower half."""
        total = Signal(REGISTER_BITS + 2, name=name)
        # One sum of two: the carry comes in at a place below.
        m.d.comb += total.eq(Cat(1, value) + Cat(carry, ~less))
        return total[-1]
