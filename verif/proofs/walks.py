"""Walks over pages of host memory and over rows of a shape: each once, in order, and none outside of the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from amaranth.hdl import Array, Assert, Assume, C, Cat, Cover, Module, Mux, Signal, Value

from cdma.hdl.axi.ports import SPAN_BITS, Response
from cdma.hdl.engine.pages.feed import PageFeed
from cdma.hdl.engine.pages.page_walk import PageWalk, PageWindow
from cdma.hdl.engine.shapes.segments import FIRST, SIZE
from cdma.hdl.engine.shapes.walker import Walker
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import LEAST_PAGED_BITS, PAGE_LOG2
from cdma.hdl.spec.shape import COUNT_BITS, PADDING_BITS

from .bench import Bench, fixed, free, hold, last_cycle
from .proof import Config, Proof

#: The most pages after the first one, and bits of an address.
_MOST, _BITS = 2, LEAST_PAGED_BITS + 1
#: Descriptors whose outcomes are followed.
_FOLLOWED = 2


class PageWalking(Bench):
    """A descriptor with a list of any few pages, and any window. Entries come at any time, and the packet may end at any
    time. Ghost state: the commands that were issued, and whether the packet has ended."""

    def __init__(self) -> None:
        self.walk = PageWalk(_BITS)

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.walk
        number, over, ended, skipped = Signal(range(_MOST + 2)), Signal(), Signal(), Signal()
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
            over.eq(over | (dut.input.valid & dut.input.ready)),
            ended.eq(ended | (taken & ~command.more)),
            skipped.eq(skipped | dut.skip),
        ]
        first, last = given.first[PAGE_LOG2:], given.last[PAGE_LOG2:]
        further = Signal.like(first)
        m.d.comb += [further.eq(last - first), Assume((given.last >= given.first) & (further <= _MOST))]
        bad = self._window(m)
        entries = self._entries(m, further)
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
            Assert(~(taken & ended)),
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
        base, limit = (fixed(m, f"any_{edge}", 64) for edge in ("base", "limit"))
        m.d.comb += Assume((base[:PAGE_LOG2] == 0) & limit[:PAGE_LOG2].all())
        _give_window(m, self.walk.window, base, limit)
        return lambda page: Value.cast(
            page[:PAGE_LOG2].any() | (page >> _BITS).any() | (page < base) | (page > limit)
        )

    def _entries(self, m: Module, further: Value) -> list[tuple[Value, Value]]:
        """Entries of a list that has been asked for, each when it comes; gives addresses and responses."""
        dut, index, asked = self.walk, Signal(range(_MOST + 1)), Signal()
        values = [(fixed(m, f"entry_{k}", 64), fixed(m, f"resp_{k}", 2)) for k in range(_MOST)]
        comes = Signal()
        free(m, "entry_comes", comes)
        waits = last_cycle(m, dut.entries.valid & ~(dut.entries.ready | dut.drop), "entry_waited")
        free(m, "list_rests", dut.request.ready)
        m.d.sync += asked.eq(asked | (dut.request.valid & dut.request.ready))
        m.d.sync += index.eq(index + (dut.entries.valid & dut.entries.ready))
        some = Array([Cat(*value) for value in values] + [Cat(*values[0])])[index]
        m.d.comb += [
            dut.entries.valid.eq((comes | waits) & asked & (index < _MOST)),
            Value.cast(dut.entries.payload).eq(Cat(some, index == further - 1)),
        ]
        return values


class PageTelling(Bench):
    """A few descriptors before a writer: without a list, with a list inside of the window, and with one outside. Memory
    has good pages in all lists, and answers at any time; data may end in any page. Ghost state: the last commands and
    outcomes, and whether the data had ended before."""

    def __init__(self) -> None:
        self.feed = PageFeed(64, _BITS, 2)

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.feed
        _give_window(m, dut.window, C(0, 64), C((2 << PAGE_LOG2) - 1, 64))
        listed = Array(fixed(m, f"list_{k}", 2) for k in range(_FOLLOWED + 1))
        offered, ended, told = (
            Signal(range(_FOLLOWED + 2), name=name) for name in ("offered", "ended", "told")
        )
        given, command, done = dut.input, dut.command, dut.given.done
        resp, seen = (each.resp.as_value() for each in (dut.given, dut.outcome))
        m.d.comb += [
            given.valid.eq(offered < _FOLLOWED),
            given.payload.first.eq(3 << PAGE_LOG2),
            given.payload.last.eq((4 + _MOST << PAGE_LOG2) - 1),
            given.payload.pages.eq(listed[offered]),
        ]
        hold(m, command, "command")
        for name in ("skip", "lost"):
            free(m, name, getattr(dut, name))
        free(m, "done", done)
        free(m, "resp", resp)
        self._answer(m)
        skips, skipped, begun = Signal(), Signal(_FOLLOWED + 1), Signal()
        taken = command.valid & command.ready
        last = taken & ~command.payload.more
        m.d.comb += skips.eq(dut.skip & ~command.valid)
        m.d.sync += [
            offered.eq(offered + (given.valid & given.ready)),
            ended.eq(ended + last),
            told.eq(told + done),
            begun.eq(Mux(taken, command.payload.more, begun)),
        ]
        with m.If(skips):
            m.d.sync += skipped.bit_select(ended, 1).eq(1)
        written = last_cycle(m, ended, "ended_before")
        short = skipped.bit_select(told, 1)
        outside = listed[told] >= 2
        counts = dut.lost & outside & (resp == 0)
        m.d.comb += [
            Assume(~dut.skip | (begun & ~command.valid)),
            # Data take a cycle more to be written than a fault to be told. Where they had ended before, none were lost.
            Assume(~done | (told < written) | ((told == ended) & short & (told < _FOLLOWED))),
            Assume(~(dut.lost & short)),
            Assert(~done | (seen == Mux(counts, Response.DECERR, resp))),
            Assert(~(done & counts) | (dut.outcome.address == listed[told] << PAGE_LOG2)),
            Cover(done & short & (told == ended)),
            Cover(done & counts & skipped.any()),
        ]

    def _answer(self, m: Module) -> None:
        """Gives each beat of lists the address of a page."""
        ar, r = self.feed.port.ar, self.feed.port.r
        owed = Signal(4)
        free(m, "list_asked", ar.ready)
        free(m, "list_comes", r.valid)
        m.d.sync += owed.eq(owed + Mux(ar.valid & ar.ready, ar.payload.len + 1, 0) - (r.valid & r.ready))
        m.d.comb += [
            Assume(~r.valid | (owed != 0)),
            r.payload.data.eq(1 << PAGE_LOG2),
            r.payload.last.eq(owed == 1),
        ]


def _give_window(m: Module, port: PageWindow, base: Value, limit: Value) -> None:
    """Answers to who reads a window, in halves, with these edges."""
    asked, before = Signal(), Signal()
    m.d.sync += [asked.eq(port.high), before.eq(asked)]
    m.d.comb += [port.base.eq(base.word_select(asked, 32)), port.limit.eq(limit.word_select(before, 32))]


def _paged(config: Config) -> bool:
    return isinstance(config, EngineConfig) and config.pages


#: The most entries of a dimension in memory, its most entries of padding on either side, and the most cycles in which a row
#: waits.
_MOST_COUNT, _MOST_PADDING, _MOST_STALLS = 2, 1, 2
#: Bits of an address that are compared: a sum has no others in its low bits, however wide it is.
_WALKED_BITS = 6


class _Axis(NamedTuple):
    """A dimension of the shape, and the index of the current row."""

    stride: Value
    count: Value
    before: Value
    after: Value
    index: Signal

    @property
    def inside(self) -> Value:
        return (self.index >= self.before) & (self.index < self.before + self.count)

    @property
    def ends(self) -> Value:
        return self.index + 1 == self.before + self.count

    @property
    def final(self) -> Value:
        return self.index + 1 == self.before + self.count + self.after


class Walking(Bench):
    """Any shape of few entries is walked, with any strides, at any place, from whatever state the one before has left.

    Registers begin with anything except a shape in progress, and a walk ends within the depth, so the depth is no
    bound.

    Ghost state: the numbers that are written, and the indexes of the current row, which count as an odometer does, so each
    combination comes once. A row's address is the sum of the products of index and stride.
    """

    any_start = True

    def __init__(self, dimensions: int) -> None:
        self.walker = Walker(dimensions)

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.walker
        numbers = [fixed(m, f"any_number_{row}", SPAN_BITS) for row in range(2 * dut.dimensions + 2)]
        shape = fixed(m, "any_shape", len(dut.end))
        written, over = Signal(range(len(numbers) + 1)), Signal()
        begun = written == len(numbers)
        m.d.sync += written.eq(written + ~begun)
        m.d.comb += [
            dut.shape.eq(shape),
            dut.row.eq(written),
            dut.value.eq(Array(numbers)[written]),
            dut.write.eq(~begun),
            dut.end.eq(shape + begun),
            Assume(begun | dut.rests),
        ]
        hold(m, dut.rows, "rows")
        stalls = Signal(range(_MOST_STALLS + 2))
        m.d.sync += stalls.eq(stalls + (dut.rows.valid & ~dut.rows.ready))
        m.d.comb += Assume(stalls <= _MOST_STALLS)
        axes = self._axes(m, numbers)
        final = Cat(axis.final for axis in axes).all()
        taken = dut.rows.valid & dut.rows.ready
        with m.If(taken):
            carries: Value | int = 1
            for axis in axes:
                with m.If(carries):
                    m.d.sync += axis.index.eq(Mux(axis.final, 0, axis.index + 1))
                carries = carries & axis.final
        with m.If(taken & final):
            m.d.sync += over.eq(1)
        row, inside = dut.rows.payload, Cat(axis.inside for axis in axes).all()
        #: Cycles without a row; the innermost dimension moves on.
        due, inner = Signal(range(8)), Signal()
        m.d.sync += due.eq(Mux(dut.rows.valid | over, 0, due + begun))
        with m.If(taken):
            m.d.sync += inner.eq(~axes[0].final)
        size = row.last - row.first - numbers[SIZE]
        m.d.comb += [
            Assert(due <= Mux(inner, 1, 1 + 2 * dut.dimensions)),
            Assert(~over | (dut.rests & ~dut.rows.valid)),
            Assert(~dut.rows.valid | (row.inside == inside)),
            Assert(~dut.rows.valid | (row.final == final)),
            Assert(~dut.rows.valid | (size[:_WALKED_BITS] == 0)),
            Assert(~(dut.rows.valid & inside) | (row.ends == Cat(axis.ends for axis in axes).all())),
            Assert(
                ~(dut.rows.valid & inside) | (row.first[:_WALKED_BITS] == self._place(axes, numbers[FIRST]))
            ),
            Cover(taken & final & Cat(axis.count == _MOST_COUNT for axis in axes).all()),
        ]

    def _axes(self, m: Module, numbers: list[Value]) -> list[_Axis]:
        axes = []
        for number in range(1, self.walker.dimensions + 1):
            stride, extent = numbers[2 * number : 2 * number + 2]
            count, before, after = (
                extent[:COUNT_BITS],
                extent[COUNT_BITS:][:PADDING_BITS],
                extent[COUNT_BITS + PADDING_BITS :][:PADDING_BITS],
            )
            axes.append(_Axis(stride, count, before, after, Signal(3, name=f"index_{number}")))
            m.d.comb += [
                Assume((count >= 1) & (count <= _MOST_COUNT)),
                Assume((before <= _MOST_PADDING) & (after <= _MOST_PADDING)),
            ]
        return axes

    def _place(self, axes: list[_Axis], first: Value) -> Value:
        place: Value = first[:_WALKED_BITS]
        for axis in axes:
            place = place + Mux(axis.index == axis.before, 0, axis.stride[:_WALKED_BITS])
        return place[:_WALKED_BITS]


def _walking(dimensions: int, depth: int, *, quick: bool = True) -> Proof:
    return Proof(
        name="walker",
        config=f"{dimensions} dimensions",
        claim="each row of a shape is walked once, in the order of the stream, where index times stride says, and no other; "
        "which rows are padding, and which is the last one",
        blocks=(Walker,),
        built_so=lambda config: isinstance(config, EngineConfig) and config.dimensions > 0,
        bench=lambda: Walking(dimensions),
        method="bmc",
        depth=depth,
        cover=depth,
        quick=quick,
    )


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
    ),
    Proof(
        name="page_faults",
        config=f"{_FOLLOWED} descriptors, lists inside and outside of the window",
        claim="a list outside of the window ends its own descriptor, and no other, also where the data of one before it had "
        "ended before its pages",
        blocks=(PageFeed,),
        built_so=_paged,
        bench=PageTelling,
        method="bmc",
        depth=32,
        cover=32,
        quick=False,
    ),
    _walking(1, 20),
    _walking(2, 58, quick=False),
]
