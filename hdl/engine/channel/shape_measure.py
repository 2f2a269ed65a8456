"""Measures the shape of a request before it is checked: where its lowest byte lies, what it spans, and how much it has."""

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.engine.shapes.layout import Measured
from cdma.hdl.spec.records import LENGTH_BITS, MAX_BYTES, RecordOptions, Status
from cdma.hdl.spec.shape import COUNT_BITS, MAX_DIMENSIONS, SPAN_LIMIT
from cdma.hdl.spec.shape_record import SHAPE_RECORD

from .descriptor import Request

__all__ = ["ShapeMeasure"]

_TOTAL_BITS = COUNT_BITS + 1
_HALF = SPAN_BITS // 2


class _Picked(NamedTuple):
    """The dimension in hand.

    ``reach``, ``negative``, ``carry``, ``far``
        Its stride without the sign, whether it is below 0, also with a lower half of 0, and whether it does not fit.
    ``steps``, ``total``, ``count``
        The steps from its first entry to its last one, the entries in the stream, and those in memory.
    """

    reach: Signal
    negative: Signal
    carry: Signal
    far: Signal
    steps: Signal
    total: Signal
    count: Signal


class _Product:
    """A sum of multiples: in each cycle ``term`` is added if ``adds``, and then doubled. The upper halves follow a
    cycle later.

    ``value``
        The sum.
    ``over``
        It is more than ``most``, or has lost a bit.
    """

    def __init__(self, m: Module, name: str, bits: int, most: int, adds: Value) -> None:
        self.value = Signal(bits, name=name, reset_less=True)
        self.term = Signal(bits, name=f"{name}_term", reset_less=True)
        self.lost = Signal(name=f"{name}_lost", reset_less=True)
        self.short = Signal(name=f"{name}_short", reset_less=True)
        self.over = self.short | (self.value > most)
        self.adds = adds
        self.half = bits // 2
        #: What the upper halves are still to do: to add the carry, if any, and to take the bit that comes up.
        self.follows = Signal(name=f"{name}_follows")
        self.added = Signal(name=f"{name}_added", reset_less=True)
        self.carry = Signal(name=f"{name}_carry", reset_less=True)
        self.risen = Signal(name=f"{name}_risen", reset_less=True)
        m.d.sync += self.follows.eq(0)
        self._follow(m)

    def _follow(self, m: Module) -> None:
        """Adds and doubles the upper halves."""
        upper, term = self.value[self.half :], self.term[self.half :]
        total = Signal(len(upper) + 1, name=f"{self.value.name}_upper")
        m.d.comb += total.eq(upper + term + self.carry)
        with m.If(self.follows):
            m.d.sync += [
                term.eq(Cat(self.risen, term)),
                self.lost.eq(self.lost | term[-1]),
            ]
            with m.If(self.added):
                m.d.sync += [upper.eq(total), self.short.eq(self.short | self.lost | total[-1])]

    def begin(self, m: Module, value: ValueLike) -> None:
        """Takes a first value."""
        m.d.sync += [self.value.eq(value), self.short.eq(0)]

    def load(self, m: Module, term: Value) -> None:
        """Takes a new term."""
        m.d.sync += [self.term.eq(term), self.lost.eq(0)]

    def step(self, m: Module) -> None:
        """Adds and doubles."""
        value, term = self.value[: self.half], self.term[: self.half]
        total = Signal(self.half + 1, name=f"{self.value.name}_lower")
        m.d.comb += total.eq(value + term)
        m.d.sync += [
            value.eq(Mux(self.adds, total, value)),
            term.eq(term << 1),
            self.follows.eq(1),
            self.added.eq(self.adds),
            self.carry.eq(total[-1]),
            self.risen.eq(term[-1]),
        ]


class ShapeMeasure(wiring.Component):
    """Hands requests on. One with a shape waits until that is measured: a cycle for each bit of the entries of a dimension,
    three for each dimension, and seven.

    The dimensions are taken in the order that the extension names: by their strides. Where the shape is written, each must
    step over all of those before it, so that no byte is written twice.

    Since a window is one range of addresses, and the lowest and the highest byte of a shape are bytes of its rows, all rows
    are inside if these two are.

    ``compressing``
        The shape is read; otherwise it is written.
    ``align_log2``
        Bits of an address that are 0 where rows and their margins may begin.
    ``run``, ``flush``
        Those of the checker. While it has not ``begun``, ``run`` must be high for a measurement to stay.
    ``begun``
        The checker has begun with the request.
    ``free``
        High while a shape may be handed on: none is being walked.
    ``busy``
        High while a request is measured or checked: it must stay.
    """

    def __init__(self, options: RecordOptions, *, compressing: bool, align_log2: int) -> None:
        self.dimensions = options.dimensions
        self.compressing = compressing
        self.align_log2 = align_log2
        super().__init__(
            {
                "input": In(stream.Signature(Request(options))),
                "output": Out(stream.Signature(Request(options))),
                "measured": Out(Measured),
                "run": In(1),
                "flush": In(1),
                "begun": In(1),
                "free": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request = self.input.payload
        shape, measured = request.extension, self.measured
        done = Signal()
        wrong = Signal()
        shaped = request.descriptor.shaped & (request.fault == Status.OK)
        m.d.comb += [
            self.output.payload.eq(request),
            self.output.valid.eq(self.input.valid & (~shaped | (done & self.free))),
            self.input.ready.eq(self.output.ready),
            measured.shaped.eq(shaped),
            measured.wrong.eq(wrong),
            measured.reserved.eq(Cat(shape[name] for name in self._reserved()).any()),
        ]
        self._measure(m, shaped, done, wrong)
        return m

    def _reserved(self) -> list[str]:
        """The fields that must be 0: those without a meaning, and those of dimensions that this engine does not have."""
        missing = range(self.dimensions + 1, MAX_DIMENSIONS + 1)
        return [field.name for field in SHAPE_RECORD if field.reserved] + [
            f"{name}_{number}" for number in missing for name in ("stride", "count", "before", "after")
        ]

    def _measure(self, m: Module, shaped: Value, done: Signal, wrong: Signal) -> None:
        """Goes through the dimensions, one after the other."""
        request, measured = self.input.payload, self.measured
        shape = request.extension
        place = Signal(range(max(2, self.dimensions)))
        #: The dimension that the order names at ``place``.
        number = Signal(2)
        seen = Signal(self.dimensions)
        picked = _Picked(
            Signal(SPAN_BITS, name="reach"),
            Signal(name="negative"),
            Signal(name="carry"),
            Signal(name="far"),
            Signal(COUNT_BITS, name="steps"),
            Signal(_TOTAL_BITS, name="total"),
            Signal(COUNT_BITS, name="count"),
        )
        span = _Product(m, "span", SPAN_BITS, SPAN_LIMIT, picked.steps[0])
        below = _Product(m, "below", SPAN_BITS, SPAN_LIMIT, picked.steps[0] & picked.negative)
        raw = _Product(m, "raw", SPAN_BITS, MAX_BYTES, picked.total[0])
        moved = _Product(m, "moved", SPAN_BITS, MAX_BYTES, picked.count[0])
        products = (span, below, raw, moved)
        over = Cat(product.over for product in products).any()
        low = Signal(SPAN_BITS, reset_less=True)
        high = Signal(64 - SPAN_BITS, reset_less=True)
        borrow = Signal(reset_less=True)
        address = request.descriptor["source" if self.compressing else "destination"]
        m.d.comb += [
            measured.lowest.eq(Cat(low, high)),
            measured.span.eq(span.value),
            measured.moved.eq(moved.value),
        ]
        leaves = Signal()
        m.d.comb += leaves.eq(self.flush | (~self.run & ~self.begun) | (self.input.valid & self.input.ready))
        with m.FSM() as fsm:

            def go(following: str) -> None:
                m.next = following
                with m.If(leaves):
                    m.next = "idle"

            with m.State("idle"), m.If(self.input.valid & shaped & self.run & ~self.flush):
                m.d.sync += [
                    wrong.eq((shape.run == 0) | self._ragged(shape.run, shape.before_run, shape.after_run)),
                    seen.eq(0),
                    place.eq(0),
                    number.eq(shape.order_1),
                ]
                span.begin(m, shape.run)
                below.begin(m, 0)
                raw.begin(m, shape.before_run + shape.after_run)
                # The run is added with the first pick.
                raw.load(m, shape.run)
                m.d.sync += picked.total.eq(1)
                moved.begin(m, shape.run)
                m.next = "pick"
            with m.State("pick"):
                raw.step(m)
                self._pick(m, shape, number, seen, picked, wrong)
                go("prepare")
            with m.State("prepare"):
                self._prepare(m, picked)
                go("load")
            with m.State("load"):
                stray = picked.far | self._ragged(picked.reach)
                if not self.compressing:
                    stray |= picked.reach < span.value
                with m.If(over | ((picked.steps != 0) & stray)):
                    m.d.sync += wrong.eq(1)
                for product, term in zip(
                    products, (picked.reach, picked.reach, raw.value, moved.value), strict=True
                ):
                    product.load(m, term)
                m.d.sync += [raw.value.eq(0), moved.value.eq(0)]
                with m.Switch(place):
                    for index in range(1, self.dimensions):
                        with m.Case(index - 1):
                            m.d.sync += number.eq(shape[f"order_{index + 1}"])
                go("multiply")
            with m.State("multiply"):
                for product in products:
                    product.step(m)
                for factor in (picked.steps, picked.total, picked.count):
                    m.d.sync += factor.eq(factor >> 1)
                with m.If(~Cat(picked.steps[1:], picked.total[1:], picked.count[1:]).any()):
                    m.d.sync += place.eq(place + 1)
                    m.next = "pick"
                    with m.If(place == self.dimensions - 1):
                        m.next = "settle"
                with m.If(leaves):
                    m.next = "idle"
            with m.State("settle"):
                m.d.sync += Cat(low[:_HALF], borrow).eq(address[:_HALF] - below.value[:_HALF])
                go("lower")
            with m.State("lower"):
                with m.If(over | (raw.value != request.descriptor.length[: LENGTH_BITS + 1])):
                    m.d.sync += wrong.eq(1)
                m.d.sync += Cat(low[_HALF:], borrow).eq(
                    address[_HALF:SPAN_BITS] - below.value[_HALF:] - borrow
                )
                go("upper")
            with m.State("upper"):
                m.d.sync += Cat(high, measured.beneath).eq(address[SPAN_BITS:] - borrow)
                go("done")
            with m.State("done"):
                m.d.comb += done.eq(~leaves | self.input.ready)
                with m.If(leaves):
                    m.next = "idle"
        m.d.comb += self.busy.eq(~fsm.ongoing("idle"))

    def _ragged(self, *lengths: Value) -> Value:
        """Whether any of these is no whole number of what rows are made of."""
        return Cat(length[: self.align_log2] for length in lengths).any()

    def _pick(
        self, m: Module, shape: Value, number: Signal, seen: Signal, picked: _Picked, wrong: Signal
    ) -> None:
        """Takes the dimension with a ``number``, as the extension has it."""
        with m.Switch(number):
            for index in range(self.dimensions):
                with m.Case(index):
                    name = index + 1
                    stride, count = shape[f"stride_{name}"], shape[f"count_{name}"]
                    sign = stride[-1]
                    beyond = stride[SPAN_BITS - 1 :]
                    m.d.sync += [
                        # One less than it is, if it is below 0.
                        picked.reach.eq(stride[:SPAN_BITS] ^ sign.replicate(SPAN_BITS)),
                        picked.negative.eq(sign),
                        picked.carry.eq(sign & ~stride[:_HALF].any()),
                        picked.far.eq(beyond.any() & ~beyond.all()),
                        # No entries count as one.
                        picked.total.eq(shape[f"before_{name}"] + shape[f"after_{name}"] + (count == 0)),
                        picked.count.eq(count),
                        seen[index].eq(1),
                    ]
                    with m.If(seen[index]):
                        m.d.sync += wrong.eq(1)
            with m.Default():
                m.d.sync += wrong.eq(1)

    @staticmethod
    def _prepare(m: Module, picked: _Picked) -> None:
        """Makes of what was taken what the products need."""
        none = picked.count == 0
        m.d.sync += [
            picked.reach[:_HALF].eq(picked.reach[:_HALF] + picked.negative),
            picked.reach[_HALF:].eq(picked.reach[_HALF:] + picked.carry),
            picked.steps.eq(Mux(none, 0, picked.count - 1)),
            picked.total.eq(picked.total + picked.count),
            picked.count.eq(picked.count | none),
        ]
