"""Measures the shape of a request before it is checked: where its lowest byte lies, what it spans, and how much it has."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import SPAN_BITS
from cdma.hdl.engine.shapes.segments import Measured
from cdma.hdl.spec.records import LENGTH_BITS, MAX_BYTES, SHAPE_RECORD, RecordOptions, Status, missing_fields
from cdma.hdl.spec.shape import COUNT_BITS, SPAN_LIMIT

from .interfaces import Request

_TOTAL_BITS = COUNT_BITS + 1
#: Parts of a sum, a cycle each.
_PARTS = 3
_FOLLOW = data.StructLayout({"works": 1, "adds": 1, "carry": 1, "risen": 1})


def _bits_of(part: int, bits: int) -> slice:
    """Where a part lies in as many bits."""
    return slice(-(-bits * part // _PARTS), -(-bits * (part + 1) // _PARTS))


class _Picked(NamedTuple):
    """The dimension in hand.

    ``reach``, ``negative``, ``carry``, ``far``
        Its stride without the sign, whether it is below 0, also with a lower half of 0, and whether it does not fit or is
        ragged.
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
    """A sum of multiples: in each cycle ``term`` is added if ``adds``, and then doubled. It is done in parts, each a cycle
    after the one below it.

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
        #: What each part but the lowest is still to do: to add, with the carry if any, and to take the bit that comes up.
        self.follow = [Signal(_FOLLOW, name=f"{name}_follow_{number}") for number in range(1, _PARTS)]
        m.d.sync += [follow.works.eq(0) for follow in self.follow]
        for number, follow in enumerate(self.follow, 1):
            with m.If(follow.works):
                self._part(m, number, follow.adds, follow.carry, follow.risen)

    def _part(self, m: Module, number: int, adds: Value, carry: ValueLike, risen: ValueLike) -> None:
        """Adds and doubles one part."""
        value, term = (each[_bits_of(number, len(self.value))] for each in (self.value, self.term))
        total = Signal(len(value) + 1, name=f"{self.value.name}_{number}")
        # The carry comes in at a place below, so that this is one sum of two.
        m.d.comb += total.eq((Cat(1, value) + Cat(carry, term))[1:])
        m.d.sync += term.eq(Cat(risen, term))
        with m.If(adds):
            m.d.sync += value.eq(total)
        if number < _PARTS - 1:
            following = self.follow[number]
            m.d.sync += [
                following.works.eq(1),
                following.adds.eq(adds),
                following.carry.eq(total[-1]),
                following.risen.eq(term[-1]),
            ]
            return
        m.d.sync += self.lost.eq(self.lost | term[-1])
        with m.If(adds):
            m.d.sync += self.short.eq(self.short | self.lost | total[-1])

    def begin(self, m: Module, value: ValueLike) -> None:
        """Takes a first value, whatever is still to do."""
        m.d.sync += [self.value.eq(value), self.short.eq(0), *(follow.works.eq(0) for follow in self.follow)]

    def load(self, m: Module, term: Value) -> None:
        """Takes a new term."""
        m.d.sync += [self.term.eq(term), self.lost.eq(0)]

    def step(self, m: Module) -> None:
        """Adds and doubles."""
        self._part(m, 0, self.adds, 0, 0)


class ShapeMeasure(wiring.Component):
    """Hands requests on. One with a shape waits until that is measured: a cycle for each bit of the entries of a dimension,
    four for each dimension, and eight.

    The dimensions are taken in the order that the extension names: by their strides. Where the shape is written, each must
    step over all of those before it, so that no byte is written twice.

    Since a window is one range of addresses, and the lowest and the highest byte of a shape are bytes of its rows, all rows
    are inside if these two are.

    ``compressing``
        The shape is read; otherwise it is written.
    ``align_log2``
        Bits of an address that are 0 where rows and their margins may begin, and that nothing here is calculated with.
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
        self.bits = SPAN_BITS - align_log2
        self.half = self.bits // 2
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
            measured.reserved.eq(Cat(shape[field.name] for field in SHAPE_RECORD if field.reserved).any()),
        ]
        self._measure(m, shaped, done, wrong)
        return m

    def _measure(self, m: Module, shaped: Value, done: Signal, wrong: Signal) -> None:
        """Goes through the dimensions, one after the other."""
        request, measured = self.input.payload, self.measured
        shape = request.extension
        place = Signal(range(max(2, self.dimensions)))
        #: The dimension that the order names at ``place``.
        number = Signal(2)
        seen = Signal(self.dimensions)
        picked = _Picked(
            Signal(self.bits, name="reach"),
            Signal(name="negative"),
            Signal(name="carry"),
            Signal(name="far"),
            Signal(COUNT_BITS, name="steps"),
            Signal(_TOTAL_BITS, name="total"),
            Signal(COUNT_BITS, name="count"),
        )
        farthest, most = SPAN_LIMIT >> self.align_log2, MAX_BYTES >> self.align_log2
        span = _Product(m, "span", self.bits, farthest, picked.steps[0])
        below = _Product(m, "below", self.bits, farthest, picked.steps[0] & picked.negative)
        raw = _Product(m, "raw", self.bits, most, picked.total[0])
        moved = _Product(m, "moved", self.bits, most, picked.count[0])
        products = (span, below, raw, moved)
        over = Cat(product.over for product in products).any()
        address = request.descriptor["source" if self.compressing else "destination"]
        reach = address[self.align_log2 : SPAN_BITS]
        low = Signal(self.bits, reset_less=True)
        high = Signal(64 - SPAN_BITS, reset_less=True)
        #: The address is not below what is taken from it.
        enough = Signal(reset_less=True)
        run, before, after = (shape[name][self.align_log2 :] for name in ("run", "before_run", "after_run"))
        m.d.comb += [
            measured.lowest.eq(Cat(address[: self.align_log2], low, high)),
            measured.span.eq(self._bytes(span.value)),
            measured.moved.eq(self._bytes(moved.value)),
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
                    wrong.eq(
                        (shape.run == 0)
                        | self._ragged(shape.run, shape.before_run, shape.after_run)
                        | Cat(shape[name] for name in missing_fields(self.dimensions)).any()
                    ),
                    seen.eq(0),
                    place.eq(0),
                    number.eq(shape.order_1),
                ]
                span.begin(m, run)
                below.begin(m, 0)
                raw.begin(m, before + after)
                # The run is added with the first pick.
                raw.load(m, run)
                m.d.sync += [picked.total.eq(1), enough.eq(1)]
                moved.begin(m, run)
                m.next = "pick"
            with m.State("pick"):
                raw.step(m)
                self._pick(m, shape, number, seen, picked, wrong)
                go("prepare")
            with m.State("prepare"):
                self._prepare(m, picked)
                go("drain")
            with m.State("drain"):
                go("load")
            with m.State("load"):
                stray: Value = picked.far
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
                        m.next = "low_0"
                with m.If(leaves):
                    m.next = "idle"
            # Each part when that of the product is there.
            for index in range(_PARTS):
                with m.State(f"low_{index}"):
                    part = _bits_of(index, self.bits)
                    less = (Cat(1, reach[part]) + Cat(enough, ~below.value[part]))[1:]
                    m.d.sync += Cat(low[part], enough).eq(less)
                    go(f"low_{index + 1}" if index < _PARTS - 1 else "upper")
            with m.State("upper"):
                with m.If(over | (self._bytes(raw.value) != request.descriptor.length[: LENGTH_BITS + 1])):
                    m.d.sync += wrong.eq(1)
                m.d.sync += Cat(high, measured.beneath).eq(address[SPAN_BITS:] - ~enough)
                go("done")
            with m.State("done"):
                m.d.comb += done.eq(~leaves | self.input.ready)
                with m.If(leaves):
                    m.next = "idle"
        m.d.comb += self.busy.eq(~fsm.ongoing("idle"))

    def _bytes(self, value: Value) -> Value:
        """A length, or an address, of what is calculated with."""
        return Cat(C(0, self.align_log2), value)

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
                    reach = stride[self.align_log2 : SPAN_BITS]
                    m.d.sync += [
                        # One less than it is, if it is below 0.
                        picked.reach.eq(reach ^ sign.replicate(self.bits)),
                        picked.negative.eq(sign),
                        picked.carry.eq(sign & ~reach[: self.half].any()),
                        picked.far.eq((beyond.any() & ~beyond.all()) | self._ragged(stride)),
                        # No entries count as one.
                        picked.total.eq(shape[f"before_{name}"] + shape[f"after_{name}"] + (count == 0)),
                        picked.count.eq(count),
                        seen[index].eq(1),
                    ]
                    with m.If(seen[index]):
                        m.d.sync += wrong.eq(1)
            with m.Default():
                m.d.sync += wrong.eq(1)

    def _prepare(self, m: Module, picked: _Picked) -> None:
        """Makes of what was taken what the products need."""
        none = picked.count == 0
        m.d.sync += [
            picked.reach[: self.half].eq(picked.reach[: self.half] + picked.negative),
            picked.reach[self.half :].eq(picked.reach[self.half :] + picked.carry),
            picked.steps.eq(Mux(none, 0, picked.count - 1)),
            picked.total.eq(picked.total + picked.count),
            picked.count.eq(picked.count | none),
        ]
