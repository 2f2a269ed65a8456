"""Measures the shape of a request before it is checked: where its lowest byte lies, what it spans, and how much it has."""

from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import SPAN_BITS
from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.engine.shapes.segments import (
    AFTER,
    BEFORE,
    FIRST,
    PADDED,
    RUN,
    Measured,
    WalkPort,
    extent_row,
    stride_row,
)
from cdma.hdl.spec.records import LENGTH_BITS, ORDER_BITS, SHAPE_RECORD, RecordOptions, Status, missing_fields
from cdma.hdl.spec.shape import COUNT_BITS, SPAN_LIMIT

from .interfaces import ExtensionPort, Request

_HIGH_BITS = 64 - SPAN_BITS
#: The sums of the dimensions so far, by their rows in memory, and products that are added to the first or become another.
_SPAN, _BELOW, _MOVED, _RAW = range(4)


class _Adder:
    """One adder for all that is measured, with a memory of sums, as signals of one module.

    ``total``, ``term``, ``factor``: The term is added to the total. A product is added by the bits of the factor.
    ``result``, ``overflow``: The sum; with a term that is taken away it overflows unless it is below 0.
    ``over``: The product has lost bits.
    ``found``: The sum of a row that was read last.
    """

    def __init__(self, m: Module, bits: int) -> None:
        self.total = Signal(bits, name="total", reset_less=True)
        self.term = Signal(bits, name="term", reset_less=True)
        self.factor = Signal(COUNT_BITS + 1, name="factor", reset_less=True)
        self.result, self.overflow = Signal(bits, name="result"), Signal(name="overflow")
        self.over = Signal(name="over")
        self._lost = Signal(name="lost")
        #: What is done in this cycle is known in the one before, so that it does not delay the sum.
        self._adds, self._subtracts, self._carry = (
            Signal(name=name, reset_less=True) for name in ("adds", "subtracts", "carry")
        )
        m.d.sync += [self._adds.eq(1), self._subtracts.eq(0), self._carry.eq(0)]
        term = Mux(self._adds, self.term, 0) ^ self._subtracts.replicate(bits)
        m.submodules.sums = memory = Memory(shape=bits, depth=4, init=[])
        self._write, self._read = memory.write_port(), memory.read_port(domain="sync")
        self.found = self._read.data
        self._row = Signal(2, name="row")
        self._change, self._changed = (Signal(COUNT_BITS + 1, name=name) for name in ("change", "changed"))
        m.d.comb += [
            # The carry comes in at a place below, so that this is one sum of two.
            Cat(self.result, self.overflow).eq((Cat(1, self.total) + Cat(self._carry, term))[1:]),
            self._write.addr.eq(self._row),
            self._write.data.eq(self.total),
            self._read.addr.eq(self._row),
            self._read.en.eq(0),
            self._changed.eq(self.factor + self._change),
        ]

    def keep(self, m: Module, row: int) -> None:
        """Writes the total."""
        m.d.comb += [self._row.eq(row), self._write.en.eq(1)]

    def find(self, m: Module, row: int) -> None:
        """Reads a sum, for the next cycle and on."""
        m.d.comb += [self._row.eq(row), self._read.en.eq(1)]

    def subtract_next(self, m: Module, carry: Value | int, *, subtracts: int = 1) -> None:
        """In the next cycle the result is the total less the term, or less 0, and without a carry one less."""
        m.d.sync += [self._adds.eq(subtracts), self._subtracts.eq(1), self._carry.eq(carry)]

    def carry_next(self, m: Module, carry: Value) -> None:
        """In the next cycle a carry is added, too."""
        m.d.sync += self._carry.eq(carry)

    def add(self, m: Module) -> None:
        """Takes the result for the total."""
        m.d.sync += self.total.eq(self.result)

    def load(self, m: Module, entries: Value) -> None:
        """Takes a factor, for a product that has lost nothing."""
        m.d.sync += [self.factor.eq(entries), self._lost.eq(0), self.over.eq(0)]

    def change(self, m: Module, change: Value | int) -> None:
        """Adds to the factor."""
        m.d.comb += self._change.eq(change)
        m.d.sync += self.factor.eq(self._changed)

    def multiply(self, m: Module) -> Value:
        """Adds the product, a bit of the factor per cycle; gives whether this is the last one."""
        m.d.sync += [
            self.term.eq(self.term << 1),
            self.factor.eq(self.factor >> 1),
            self._lost.eq(self._lost | self.term[-1]),
        ]
        with m.If(self.factor[0]):
            self.add(m)
            with m.If(self._lost | self.overflow):
                m.d.sync += self.over.eq(1)
        return ~self.factor[1:].any()


class ShapeMeasure(wiring.Component):
    """Hands requests on. One with a shape waits until that is measured: two cycles for each bit of the entries of a
    dimension, ten for each dimension, and sixteen; four more for a stride below 0, and where a shape that is read has
    padding one more for each bit, and two.

    The dimensions are taken in the order that the extension names: by their strides. Where the shape is written, each must
    step over all of those before it, so that no byte is written twice.

    Since a window is one range of addresses, and the lowest and the highest byte of a shape are bytes of its rows, all rows
    are inside if these two are.

    ``compressing``: The shape is read; otherwise it is written.
    ``align_log2``: Bits of an address that are 0 where rows and their margins may begin, and that nothing here is
        calculated with.
    ``run``, ``flush``: Those of the checker. While it has not ``begun``, ``run`` must be high for a measurement to
        stay.
    ``begun``: The checker has begun with the request.
    ``walk``: Takes the numbers of the shape while that is measured.
    ``starts``, ``frequent``: Pulse: the checker has found nothing wrong, and the shape is walked; whether padding is
        the most frequent value.
    ``busy``: High while a request is measured or checked: it must stay.
    """

    def __init__(self, options: RecordOptions, *, compressing: bool, align_log2: int) -> None:
        self.dimensions = options.dimensions
        self.compressing = compressing
        self.align_log2 = align_log2
        self.bits = max(SPAN_BITS - align_log2, _HIGH_BITS)
        super().__init__(
            {
                "input": In(stream.Signature(Request(options))),
                **ExtensionPort(options).flip().members,
                "output": Out(stream.Signature(Request(options))),
                "measured": Out(Measured),
                "run": In(1),
                "flush": In(1),
                "begun": In(1),
                "walk": Out(WalkPort(options.dimensions)),
                "starts": In(1),
                "frequent": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, measured = self.input.payload, self.measured
        shaped = request.descriptor.shaped & (request.fault == Status.OK)
        self._address = request.descriptor["source" if self.compressing else "destination"]
        done = Signal()
        self._leaves = Signal(name="leaves")
        self._adder = adder = _Adder(m, self.bits)
        self._shape = request.extension
        self._wrong = Signal(name="wrong")
        #: The numbers of the dimensions that are still to be added; the row, or a dimension before, has padding.
        self._order = Signal(ORDER_BITS * self.dimensions, name="order", reset_less=True)
        self._padded = Signal(name="padded")
        #: The dimensions that were named, and the number of those that are still to be.
        self._seen = Signal(self.dimensions, name="seen", reset_less=True)
        self._left = Signal(range(self.dimensions + 1), name="left", reset_less=True)
        m.d.comb += [
            self.output.payload.eq(request),
            self.output.valid.eq(self.input.valid & ~self.extended & (~shaped | done)),
            self.input.ready.eq(self.output.ready),
            self._leaves.eq(self.flush | (~self.run & ~self.begun) | (self.input.valid & self.input.ready)),
            measured.shaped.eq(shaped),
            measured.wrong.eq(self._wrong),
            measured.span.eq(self._bytes(adder.found)),
            # The address stays in the descriptor until the shape is walked.
            self.walk.row.eq(FIRST),
            self.walk.value.eq(self._address),
            self.walk.walks.eq(self.starts),
            self.walk.push.eq(self.starts),
            self.walk.frame.frequent.eq(self.frequent),
        ]
        begins = self.input.valid & ~self.extended & shaped & self.walk.room & self.run & ~self.flush
        with m.FSM() as fsm:
            with m.State("idle"), m.If(begins):
                m.d.sync += [self._wrong.eq(0), self.wants_extension.eq(1)]
                m.next = "turn"
            self._measure_row(m)
            self._measure_dimension(m)
            self._finish(m, request.descriptor)
            with self._state(m, "done", "done"):
                m.d.comb += done.eq(~self._leaves | self.input.ready)
        m.d.comb += self.busy.eq(~fsm.ongoing("idle"))
        return m

    @contextmanager
    def _state(self, m: Module, name: str, following: str) -> Iterator[None]:
        """A cycle of the measurement, unless the request leaves; the state after it may be changed inside."""
        with m.State(name):
            m.next = following
            yield
            with m.If(self._leaves):
                m.d.sync += self.wants_extension.eq(0)
                m.next = "idle"

    def _refuse(self, m: Module, when: Value) -> None:
        with m.If(when):
            m.d.sync += self._wrong.eq(1)

    def _measure_row(self, m: Module) -> None:
        """Begins the sums with a row; looks at what must be 0."""
        adder, shape, lower, frame = self._adder, self._shape, self.align_log2, self.walk.frame
        run, before, after = (shape[name] for name in ("run", "before_run", "after_run"))
        missing = Cat(shape[name] for name in missing_fields(self.dimensions)).any()
        with self._state(m, "turn", "turn"), m.If(self.extended):
            m.next = "row"
        with self._state(m, "row", "run"):
            m.d.sync += [
                adder.total.eq(run[lower:]),
                adder.term.eq(before[lower:]),
                frame.before.eq(before != 0),
                frame.after.eq(after != 0),
                self.measured.reserved.eq(
                    Cat(shape[field.name] for field in SHAPE_RECORD if field.reserved).any()
                ),
                self._order.eq(Cat(shape[f"order_{place}"] for place in range(1, self.dimensions + 1))),
                self._seen.eq(0),
                self._left.eq(self.dimensions),
            ]
            self._refuse(m, (run == 0) | self._ragged(run, before, after) | missing)
            adder.subtract_next(m, 0, subtracts=0)
        with self._state(m, "run", "before"):
            adder.keep(m, _SPAN)
            self._give_length(m, RUN)
            m.d.comb += self.walk.walks.eq(1)
            m.d.sync += self._padded.eq(frame.before | frame.after)
        with self._state(m, "before", "after"):
            adder.keep(m, _MOVED)
            adder.add(m)
            m.d.sync += adder.term.eq(after[lower:])
        with self._state(m, "after", "whole"):
            adder.add(m)
            adder.subtract_next(m, 0, subtracts=0)
        with self._state(m, "whole", "clear"):
            adder.keep(m, _RAW)
            self._give_length(m, PADDED)
            m.d.sync += adder.total.eq(Mux(self._padded, before[lower:], 0))
            with m.If(self._padded):
                adder.subtract_next(m, 0, subtracts=0)
                m.next = "length_before"
        with self._state(m, "length_before", "length_after"):
            self._give_length(m, BEFORE)
            m.d.sync += adder.total.eq(after[lower:])
            adder.subtract_next(m, 0, subtracts=0)
        with self._state(m, "length_after", "clear"):
            self._give_length(m, AFTER)
            m.d.sync += adder.total.eq(0)
        with self._state(m, "clear", "stride"):
            adder.keep(m, _BELOW)

    def _give_length(self, m: Module, row: int) -> None:
        """Gives the total, less one byte, as a length."""
        walk, result = self.walk, self._adder.result
        m.d.comb += [
            walk.row.eq(row),
            walk.value.eq(
                Cat(C((1 << self.align_log2) - 1, self.align_log2), result[: SPAN_BITS - self.align_log2])
            ),
            walk.cuts.eq(1),
        ]

    def _measure_dimension(self, m: Module) -> None:
        """Adds a dimension to what is spanned; multiplies what is moved, and what the stream has."""
        adder, number = self._adder, self._order[:ORDER_BITS]
        negative = Signal()
        far = Signal()
        stride, count, before, after = (self._field(name) for name in ("stride", "count", "before", "after"))
        entries = count | (count == 0)
        reach = stride[self.align_log2 : SPAN_BITS]
        following = "moves" if self.compressing else "streams"
        with self._state(m, "stride", "entries"):
            sign, beyond = stride[-1], stride[SPAN_BITS - 1 :]
            m.d.sync += [
                adder.term.eq(reach ^ sign.replicate(len(reach))),
                adder.total.eq(0),
                negative.eq(sign),
                far.eq((beyond.any() & ~beyond.all()) | self._ragged(stride)),
            ]
            adder.carry_next(m, sign)
            # Each is named once.
            named = Cat(number == index for index in range(self.dimensions))
            m.d.sync += self._seen.eq(self._seen | named)
            self._refuse(m, ~(named & ~self._seen).any())
            self._give_number(m, stride_row(number + 1), stride)
        with self._state(m, "entries", "steps"):
            adder.add(m)
            adder.find(m, _SPAN)
            adder.load(m, entries)
            self._give_number(m, extent_row(number + 1), Cat(entries, before, after))
        with self._state(m, "steps", "compare"):
            adder.change(m, -1)
            adder.subtract_next(m, 0)
            m.d.sync += [adder.term.eq(adder.total), adder.total.eq(adder.found)]
        with self._state(m, "compare", "span"):
            overlaps = C(0) if self.compressing else adder.overflow
            self._refuse(m, (adder.factor != 0) & (far | overlaps))
        self._multiply(m, "span", "spanned")
        with self._state(m, "spanned", following):
            adder.keep(m, _SPAN)
            m.d.sync += adder.term.eq(adder.found)
            self._refuse(m, adder.over | (adder.total > SPAN_LIMIT >> self.align_log2))
            with m.If(negative):
                adder.subtract_next(m, 1)
                m.next = "fall"
        # What was added to the span.
        with self._state(m, "fall", "below"):
            adder.add(m)
            adder.find(m, _BELOW)
        with self._state(m, "below", "fallen"):
            m.d.sync += adder.term.eq(adder.found)
        with self._state(m, "fallen", "lower"):
            adder.add(m)
        with self._state(m, "lower", following):
            adder.keep(m, _BELOW)
        if self.compressing:
            pads = self._padded | before.any() | after.any()
            with self._state(m, "moves", "streams"):
                adder.find(m, _MOVED)
                adder.load(m, entries)
                m.d.sync += self._padded.eq(pads)
                with m.If(pads):
                    m.next = "moving"
            with self._state(m, "moving", "move"):
                m.d.sync += [adder.term.eq(adder.found), adder.total.eq(0)]
            self._multiply(m, "move", "moved")
            with self._state(m, "moved", "streams"):
                adder.keep(m, _MOVED)
        with self._state(m, "streams", "padding"):
            adder.find(m, _RAW)
            adder.load(m, entries)
        with self._state(m, "padding", "paddings"):
            adder.change(m, before)
            with m.If(after == 0):
                m.next = "stream"
            m.d.sync += [adder.term.eq(adder.found), adder.total.eq(0)]
        with self._state(m, "paddings", "stream"):
            adder.change(m, after)
        self._multiply(m, "stream", "streamed")
        with self._state(m, "streamed", "next"):
            adder.keep(m, _RAW)
            self._refuse(m, adder.over)
            m.d.sync += [self._order.eq(self._order >> ORDER_BITS), self._left.eq(self._left - 1)]
        with self._state(m, "next", "stride"):
            if self.compressing:
                # Without padding as much is moved.
                with m.If(~self._padded):
                    adder.keep(m, _MOVED)
            with m.If(self._left == 0):
                m.d.sync += self.wants_extension.eq(0)
                m.next = "length"

    def _give_number(self, m: Module, row: Value, value: Value) -> None:
        """Gives a number that the shape is walked by."""
        m.d.comb += [self.walk.row.eq(row), self.walk.value.eq(value), self.walk.walks.eq(1)]

    def _field(self, name: str) -> Value:
        """A field of the dimension that is measured."""
        number = self._order[:ORDER_BITS]
        return one_of(
            *((number == index, self._shape[f"{name}_{index + 1}"]) for index in range(self.dimensions))
        )

    def _multiply(self, m: Module, name: str, following: str) -> None:
        """Adds a product to the total, a bit of the factor per cycle."""
        with self._state(m, name, name), m.If(self._adder.multiply(m)):
            m.next = following

    def _finish(self, m: Module, descriptor: Value) -> None:
        """Compares the length, and finds the lowest byte."""
        adder, measured = self._adder, self.measured
        address = self._address
        #: Nothing was borrowed from the upper part of the address.
        enough = Signal(reset_less=True)
        with self._state(m, "length", "length"), m.If(~self.extended):
            adder.find(m, _BELOW)
            m.d.sync += adder.total.eq(address[self.align_log2 : SPAN_BITS])
            self._refuse(m, self._bytes(adder.total) != descriptor.length[: LENGTH_BITS + 1])
            m.next = "below_address"
        with self._state(m, "below_address", "lowest"):
            adder.find(m, _MOVED)
            adder.subtract_next(m, 1)
            m.d.sync += adder.term.eq(adder.found)
        with self._state(m, "lowest", "upper"):
            adder.find(m, _SPAN)
            adder.add(m)
            m.d.sync += enough.eq(adder.overflow)
            if self.compressing:
                m.d.sync += measured.moved.eq(self._bytes(adder.found))
        with self._state(m, "upper", "borrow"):
            adder.subtract_next(m, enough, subtracts=0)
            m.d.sync += [adder.term.eq(adder.total), adder.total.eq(address[SPAN_BITS:])]
        with self._state(m, "borrow", "done"):
            adder.add(m)
            m.d.sync += measured.beneath.eq(~adder.overflow)
        m.d.comb += measured.lowest.eq(
            Cat(
                address[: self.align_log2],
                adder.term[: SPAN_BITS - self.align_log2],
                adder.total[:_HIGH_BITS],
            )
        )

    def _bytes(self, value: Value) -> Value:
        """A length, or an address, of what is calculated with."""
        return Cat(C(0, self.align_log2), value)

    def _ragged(self, *lengths: Value) -> Value:
        """Whether any of these is no whole number of what rows are made of."""
        return Cat(length[: self.align_log2] for length in lengths).any()
