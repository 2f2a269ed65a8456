"""The walk of the pages of host memory: each page of the list once, in its order, none outside of the window."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal, Value

from cdma.hdl.engine.pages.page_walk import PageWalk
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.pages import LEAST_PAGED_BITS, PAGE_LOG2

from .bench import Bench, fixed, free, hold
from .design import Config
from .proof import Proof

__all__ = ["PROOFS", "PageWalking"]

#: The most pages after the first one, and bits of an address.
_MOST, _BITS = 2, LEAST_PAGED_BITS + 1


class PageWalking(Bench):
    """A descriptor with a list of few pages, whatever stands in it, and any window. Entries come at any time, and the packet
    may end at any.

    Ghost state: the commands that were taken, and whether the packet has ended.
    """

    def __init__(self) -> None:
        super().__init__()
        self.walk = PageWalk(_BITS)

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.walk
        number, over, skipped = Signal(range(_MOST + 2)), Signal(), Signal()
        given, command = dut.input.payload, dut.command.payload
        taken = dut.command.valid & dut.command.ready
        m.d.comb += [
            Value.cast(given).eq(fixed(m, "any_command", given.shape().size)),
            dut.input.valid.eq(~over),
        ]
        hold(m, dut.command, "command")
        free(m, "skip", dut.skip)
        m.d.sync += [
            number.eq(number + taken),
            over.eq(over | (taken & ~command.more)),
            skipped.eq(skipped | dut.skip),
        ]
        first, last = given.first[PAGE_LOG2:], given.last[PAGE_LOG2:]
        further = Signal.like(first)
        m.d.comb += [
            further.eq(last - first),
            Assume((given.last >= given.first) & (further <= _MOST)),
        ]
        bad = self._window(m)
        entries = self._entries(m)
        listed = given.pages.any() & (further != 0)
        pages, usable = [first], [Value.cast(1)]
        sound = ~bad(given.pages << PAGE_LOG2)
        for address, resp in entries:
            sound = sound & ~bad(address) & ~resp[1]
            pages.append(address[PAGE_LOG2:_BITS])
            usable.append(sound)
        following = Array([*usable[1:], Value.cast(0)])[number]
        complete = number == Mux(listed, further, 0)
        in_page = slice(0, PAGE_LOG2)
        told = Signal(range(4))
        resp = Signal.like(dut.faults.payload.resp.as_value())
        m.d.sync += told.eq(told + dut.faults.valid)
        with m.If(dut.faults.valid):
            m.d.sync += resp.eq(dut.faults.payload.resp)
        ends = taken & ~command.more
        response = Mux(dut.faults.valid, dut.faults.payload.resp.as_value(), resp)
        m.d.comb += [
            Assert(~taken | (number <= Mux(listed, further, 0))),
            Assert(~taken | Array(usable)[number]),
            Assert(~taken | (command.first[PAGE_LOG2:] == Array(pages)[number])),
            Assert(~taken | (command.first[in_page] == Mux(number == 0, given.first[in_page], 0))),
            Assert(~taken | (command.last[PAGE_LOG2:] == Mux(listed, Array(pages)[number], last))),
            Assert(
                ~taken | (command.last[in_page] == Mux(complete, given.last[in_page], (1 << PAGE_LOG2) - 1))
            ),
            Assert(~(taken & command.more) | (~complete & following)),
            Assert(~ends | complete | ~following | skipped),
            Assert(~ends | (told + dut.faults.valid == 1)),
            Assert(~ends | ~complete | (response == 0)),
            Assert(~ends | complete | skipped | (response != 0)),
            Cover(ends & (number == _MOST) & (given.first[in_page] != 0)),
            Cover(ends & (number == 1) & (further == _MOST) & (response != 0)),
        ]

    def _window(self, m: Module) -> Callable[[Value], Value]:
        """Any window, in halves; gives what says whether a page is none, or outside."""
        window = self.walk.window
        base, limit = (fixed(m, f"any_{edge}", 64) for edge in ("base", "limit"))
        asked, before = Signal(), Signal()
        m.d.sync += [asked.eq(window.high), before.eq(asked)]
        m.d.comb += [
            Assume((base[:PAGE_LOG2] == 0) & limit[:PAGE_LOG2].all()),
            window.base.eq(base.word_select(asked, 32)),
            window.limit.eq(limit.word_select(before, 32)),
        ]
        return lambda page: Value.cast(
            page[:PAGE_LOG2].any() | (page >> _BITS).any() | (page < base) | (page > limit)
        )

    def _entries(self, m: Module) -> list[tuple[Value, Value]]:
        """Entries of a list that has been asked for, each when it comes; gives addresses and responses."""
        dut, index, asked = self.walk, Signal(range(_MOST + 1)), Signal()
        values = [(fixed(m, f"entry_{k}", 64), fixed(m, f"resp_{k}", 2)) for k in range(_MOST)]
        comes = Signal()
        free(m, "entry_comes", comes)
        free(m, "list_rests", dut.request.ready)
        m.d.sync += asked.eq(asked | (dut.request.valid & dut.request.ready))
        m.d.sync += index.eq(index + (dut.entries.valid & dut.entries.ready))
        some = Array([Cat(*value) for value in values] + [Cat(*values[0])])[index]
        m.d.comb += [
            dut.entries.valid.eq(comes & asked & (index < _MOST)),
            Value.cast(dut.entries.payload).eq(some),
        ]
        return values


def _paged(config: Config) -> bool:
    return isinstance(config, EngineConfig) and config.pages


PROOFS = [
    Proof(
        name="pages",
        config=f"up to {_MOST + 1} pages",
        claim="each page of host memory has one command, in the order of its list, and none is outside of the window; the "
        "last one has no more after it, and what ended the pages too early is told once",
        blocks=(PageWalk,),
        built_so=_paged,
        bench=PageWalking,
        method="bmc",
        depth=26,
        cover=26,
    )
]
