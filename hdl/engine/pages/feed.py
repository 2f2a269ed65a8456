"""Gives a reader or a writer of host memory the pages of descriptors as commands."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import Command, Outcome, ReadPort, Response
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.spec.options import PAGE_LOG2

from .page_walk import PageFault, PageList, PageWalk, PageWindow


class PageFeed(wiring.Component):
    """Stands before the commands of a reader or writer, and behind its outcomes.

    ``input``, ``command``, ``window``, ``skip``: Those of a :class:`.PageWalk`.
    ``given``, ``outcome``: The outcomes of the reader or writer, and those of descriptors: the pages of one may have
        ended too early, which counts where no response did.
    ``lost``: With ``given.done``: there were data behind the last page.
    ``mark``, ``resting``: The watchdog has an address noted; and the reader or writer has nothing in flight, so that it
        is one of the list.
    ``port``: The AXI4 port for lists.
    ``flush``, ``idle``, ``progress``: Those of an :class:`.AxiReader`.
    """

    def __init__(
        self, data_bits: int, address_bits: int, descriptors: int, user_bits: int = 0, pair_bits: int = 0
    ) -> None:
        self.data_bits = data_bits
        self.address_bits = address_bits
        self.descriptors = descriptors
        self.user_bits = user_bits
        self.pair_bits = pair_bits
        #: Lists tell whose they are where there are several pairs.
        self.list_bits = list_bits = user_bits if pair_bits else 0
        given = Command(address_bits, pages=address_bits - PAGE_LOG2, user=user_bits)
        super().__init__(
            {
                "input": In(stream.Signature(given)),
                "command": Out(stream.Signature(Command(address_bits, "more", user=user_bits))),
                "given": In(Outcome(address_bits)),
                "outcome": Out(Outcome(address_bits)),
                "lost": In(1),
                "mark": In(1),
                "resting": In(1),
                "window": Out(PageWindow(pair_bits)),
                "skip": In(1),
                "port": Out(ReadPort(data_bits, address_bits, user_bits=list_bits)),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
            }
        )

    @classmethod
    def before(
        cls,
        m: Module,
        stage: AxiReader | AxiWriter,
        path: wiring.PureInterface,
        descriptors: int,
        pair_bits: int,
    ) -> "PageFeed":
        """One for the reader or writer of the host port of a data path."""
        shape = stage.shape
        m.submodules.pages = pages = cls(
            shape.data_bits, shape.address_bits, descriptors, shape.user_bits, pair_bits
        )
        wiring.connect(m, pages.command, stage.command)
        wiring.connect(m, stage.outcome, pages.given)
        wiring.connect(m, pages.port, wiring.flipped(path.lists))
        wiring.connect(m, pages.window, wiring.flipped(path.window))
        m.d.comb += [
            pages.mark.eq(path.mark),
            pages.resting.eq(stage.idle),
            pages.flush.eq(path.flush),
            # Of what is read all pages count; of what is written, those that data would have gone to.
            pages.lost.eq(1),
        ]
        if isinstance(stage, AxiWriter):
            m.d.comb += [pages.lost.eq(stage.overflow), pages.skip.eq(stage.skip)]
        return pages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = walk = PageWalk(self.address_bits, self.user_bits, self.pair_bits)
        m.submodules.list = pages = PageList(self.data_bits, self.address_bits, self.list_bits)
        m.submodules.faults = faults = Fifo(PageFault, self.descriptors, reserved=True)
        wiring.connect(m, wiring.flipped(self.input), walk.input)
        wiring.connect(m, walk.command, wiring.flipped(self.command))
        wiring.connect(m, walk.window, wiring.flipped(self.window))
        wiring.connect(m, walk.request, pages.request)
        wiring.connect(m, pages.entries, walk.entries)
        wiring.connect(m, walk.faults, faults.input)
        wiring.connect(m, pages.port, wiring.flipped(self.port))
        given, outcome, fault = self.given, self.outcome, faults.output.payload
        counts = Signal()
        #: The packet in hand is written before its fault is known: that does not count, because its data have ended.
        early = Signal()
        m.d.sync += early.eq((given.done | early) & ~faults.output.valid)
        m.d.comb += [
            walk.fault.eq(pages.fault),
            walk.skip.eq(self.skip),
            pages.drop.eq(walk.drop),
            pages.user.eq(self.input.payload.user),
            pages.flush.eq(self.flush),
            self.idle.eq(pages.idle),
            self.progress.eq(pages.progress),
            counts.eq(given.done & self.lost & (fault.resp != Response.OKAY) & (given.resp == Response.OKAY)),
            outcome.note.eq(given.note | counts),
            outcome.address.eq(
                Mux(counts, fault.address, Mux(self.mark & self.resting, pages.at, given.address))
            ),
            outcome.done.eq(given.done),
            outcome.resp.eq(Mux(counts, fault.resp, given.resp)),
            faults.output.ready.eq(given.done | early),
        ]
        return m
