"""Reads the list of pages of a descriptor."""

from amaranth.hdl import C, Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.axi.ports import ReadPort, Response
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.spec.pages import ENTRY_BYTES, LIST_BURSTS, MOST_PAGED, PAGE_BYTES, PAGE_LOG2

__all__ = ["ENTRIES_LOG2", "ListEntry", "ListRequest", "PageList"]

ENTRIES_LOG2 = (MOST_PAGED // PAGE_BYTES - 1).bit_length()
#: Beats of a read of entries.
_BURST = 4
_ENTRY_BITS = 8 * ENTRY_BYTES

#: What an entry says, and whether it could be read.
ListEntry = data.StructLayout({"address": _ENTRY_BITS, "resp": Response})


class ListRequest(data.StructLayout):
    """The number of the page that a list is in, and the entries of it, less one."""

    def __init__(self, address_bits: int) -> None:
        super().__init__({"page": address_bits - PAGE_LOG2, "last": ENTRIES_LOG2})


class PageList(wiring.Component):
    """Reads one list after the other, ahead of those who take its entries.

    ``request``
        A list is begun, when nothing is left of the one before.
    ``owner``
        With ``request``: whose the list is, which its addresses say.
    ``entries``
        Its entries. From one that could not be read on none is right.
    ``fault``
        The address of the first beat that could not be read, with such an entry.
    ``drop``
        What is left of the list, if anything is, is given up: no read of it begins any more.
    ``port``
        The AXI4 port.
    ``flush``, ``idle``, ``progress``
        Those of an :class:`.AxiReader`.
    ``at``
        For a watchdog: the address that the next beat will be from.
    """

    def __init__(self, data_bits: int, address_bits: int, owner_bits: int = 0) -> None:
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
            owner_bits=owner_bits,
        )
        super().__init__(
            {
                "request": In(stream.Signature(ListRequest(address_bits))),
                "entries": Out(stream.Signature(ListEntry)),
                "fault": Out(address_bits),
                "drop": In(1),
                **({"owner": In(owner_bits)} if owner_bits else {}),
                "port": Out(ReadPort(data_bits, address_bits, owner_bits=owner_bits)),
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
        wanted = Signal.like(self.request.payload, reset_less=True)
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
        ]
        m.d.sync += [dropped.eq(drops & busy & ~over), forgets.eq(drops & over)]
        if self.shape.owner_bits:
            owner = Signal.like(self.owner, reset_less=True, name="owner_of_list")
            m.d.comb += reader.command.payload.owner.eq(owner)
            with m.If(begins):
                m.d.sync += owner.eq(self.owner)
        with m.If(begins):
            m.d.sync += [wanted.eq(self.request.payload), busy.eq(1), asks.eq(1)]
        with m.Elif(over):
            m.d.sync += [busy.eq(0), asks.eq(0)]
        with m.Elif(reader.command.ready):
            m.d.sync += asks.eq(0)
        sound, resp = self._judge(m, reader, over)
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
            taken.eq(entry.valid & entry.ready),
            # The last entry of the beat, or all of it.
            source.ready.eq(taken & ~words[1:].any()),
            over.eq(Mux(drops, busy & reader.idle, source.valid & source.ready & source.payload.last)),
        ]
        with m.If((source.valid & source.ready) | over):
            m.d.sync += lane.eq(0)
        with m.Elif(taken):
            m.d.sync += lane.eq(lane + 1)
        return m

    def _judge(self, m: Module, reader: AxiReader, over: Signal) -> tuple[Signal, Signal]:
        """Counts the beats in the buffer that are right; gives that and the response to the first that was not."""
        r, source = self.port.r, reader.output
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
        ]
        with m.If(wrong):
            m.d.sync += [spoilt.eq(1), resp.eq(r.payload.resp), self.fault.eq(reader.outcome.address)]
        m.d.sync += sound.eq(sound + (comes & ~wrong) - leaves)
        with m.If(over):
            m.d.sync += [spoilt.eq(0), sound.eq(0)]
        return sound, resp
