"""What the units report of their stripes, and what becomes of it for a descriptor."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import SPAN_BITS, Outcome, Response
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.engine.path.ports import Verdict


class StripeOutcome(data.StructLayout):
    """How a reader or a writer has done with a stripe: the first response that was not OKAY, and the ``place`` in the
    stripe that its address was noted for."""

    def __init__(self, place_bits: int) -> None:
        super().__init__({"resp": Response, "place": place_bits})


class StripeVerdict(data.StructLayout):
    """The codec's verdict on a stripe."""

    def __init__(self, stripe_words: int) -> None:
        super().__init__({"literals": range(stripe_words + 1), "error": Error})


class ReportOrder(data.StructLayout):
    """Whose report comes next: the ``unit`` of a stripe, the number of that in memory, whether its data pass around
    the codec, and whether it is the descriptor's last. If ``shaped``, whether it is padding, and the place in the stripe
    where it begins. If ``based``, whether it has a base, and the number of that one's stripe."""

    def __init__(
        self, address_bits: int, units: int, place_bits: int, *, shaped: bool = False, based: bool = False
    ) -> None:
        number_bits = address_bits - place_bits
        super().__init__(
            {
                "unit": range(units),
                "number": number_bits,
                "raw": 1,
                "final": 1,
                **optional(shaped, padding=1, place=place_bits),
                **optional(based, delta=1, base=number_bits),
            }
        )


def note_outcome(m: Module, name: str, outcome: wiring.PureInterface, sink: stream.Interface) -> None:
    """Makes a :class:`StripeOutcome` at ``sink`` of each :class:`.Outcome`; keeps the place until then."""
    place = Signal.like(sink.payload.place, name=f"{name}_place")
    now = outcome.address[: len(place)]
    with m.If(outcome.note):
        m.d.sync += place.eq(now)
    m.d.comb += [
        sink.valid.eq(outcome.done),
        sink.payload.resp.eq(outcome.resp),
        sink.payload.place.eq(Mux(outcome.note, now, place)),
    ]


class Outcomes(wiring.Signature):
    """The reports of one unit, one of each for every stripe, seen from the unit.

    ``port``: How its reader or writer has done.
    ``end``: Where its writer ended, if it has one: the place in the stripe after the last word, or else after the
        stripe.
    ``codec``: The codec's verdict, unless the data passed around it.
    ``next_place``: For a watchdog: the place in its stripe of what the port waits for.
    ``base``, ``next_base``: If ``based``: those of the reader of bases, of each stripe with one.
    """

    def __init__(self, place_bits: int, stripe_words: int, *, writes: bool, based: bool = False) -> None:
        super().__init__(
            {
                "port": Out(stream.Signature(StripeOutcome(place_bits))),
                **optional(writes, end=Out(stream.Signature(place_bits + 1))),
                "codec": Out(stream.Signature(StripeVerdict(stripe_words))),
                "next_place": Out(place_bits),
                **optional(
                    based, base=Out(stream.Signature(StripeOutcome(place_bits))), next_base=Out(place_bits)
                ),
            }
        )


class Collector(wiring.Component):
    """Makes one outcome and one verdict of what the units report about a descriptor's stripes, in the order of those.

    The first stripe with an error gives the verdict's error, and of its literals and of those before it the sum; the same
    stripe says where the packet ended. The first stripe whose port failed gives the response and the address.
    Throughput: a stripe per cycle. Latency: none, of the verdict one cycle.

    ``writes``: The ports are written.
    ``shaped``: Descriptors may have shapes: padding that is made has no report of a port, and ``end`` says the bytes
        that were written.
    ``based``: Descriptors may have bases.
    ``order``: One entry for each stripe.
    ``units``: The reports of each unit.
    ``outcome``, ``verdict``, ``end``: Of the descriptor; ``end`` is valid with ``outcome.done``.
    ``base_outcome``: Of its base, if it has one; it is done with ``outcome``.
    ``mark``, ``waiting``: For a watchdog: notes what the unit of the stripe ``waiting`` waits for.
    """

    def __init__(
        self,
        address_bits: int,
        units: int,
        stripe_bytes: int,
        stripe_words: int,
        *,
        writes: bool,
        shaped: bool = False,
        based: bool = False,
    ) -> None:
        place_bits = exact_log2(stripe_bytes)
        order = ReportOrder(address_bits, units, place_bits, shaped=shaped, based=based)
        reports = Outcomes(place_bits, stripe_words, writes=writes, based=based)
        self.writes = writes
        self.shaped = shaped
        self.based = based
        self.place_bits = place_bits
        super().__init__(
            {
                "order": In(stream.Signature(order)),
                "units": In(reports).array(units),
                "outcome": Out(Outcome(address_bits)),
                **optional(based, base_outcome=Out(Outcome(address_bits))),
                "verdict": Out(stream.Signature(Verdict, always_ready=True)),
                "end": Out(SPAN_BITS),
                "mark": In(1),
                "waiting": In(order),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        order, units = self.order, self.units
        turn = order.payload.unit
        due = Signal()
        streams = ["port", "codec", *["end"] * self.writes, *["base"] * self.based]
        valid = {name: Array(getattr(unit, name).valid for unit in units)[turn] for name in streams}
        #: Those that a stripe has no report of.
        without = {"codec": order.payload.raw}
        port: Value = valid["port"]
        if self.shaped and not self.writes:
            # Padding that is dropped goes to the port, as a packet without words; what is made does not come from it.
            without["port"] = order.payload.padding
            port = port | order.payload.padding
        there = port & (order.payload.raw | valid["codec"])
        if self.writes:
            there &= valid["end"]
        if self.based:
            without["base"] = ~order.payload.delta
            there &= without["base"] | valid["base"]
        m.d.comb += [due.eq(order.valid & there), order.ready.eq(due)]
        for index, unit in enumerate(units):
            for name in streams:
                wanted = due & (turn == index)
                m.d.comb += getattr(unit, name).ready.eq(
                    wanted & ~without[name] if name in without else wanted
                )

        verdict = Signal(units[0].codec.payload.shape())
        m.d.comb += verdict.eq(Array(unit.codec.payload for unit in units)[turn])
        padding = self.shaped and not self.writes
        reported = due & ~order.payload.padding if padding else due
        self._judge_port(m, due, reported, self.outcome, "port", "next_place", "number")
        m.d.comb += self.outcome.done.eq(due & order.payload.final)
        if self.based:
            has_base = due & order.payload.delta
            self._judge_port(m, due, has_base, self.base_outcome, "base", "next_base", "base")
            m.d.comb += self.base_outcome.done.eq(has_base & order.payload.final)
        wrong = self._judge_codec(m, due, verdict)
        if self.writes and self.shaped:
            self._count(m, due, wrong)
        elif self.writes:
            self._find_end(m, wrong)
        return m

    def _judge_port(
        self,
        m: Module,
        due: Signal,
        reported: Value,
        outcome: wiring.PureInterface,
        name: str,
        waits: str,
        number: str,
    ) -> None:
        """The first response that was not OKAY of those ``reported`` as ``name``, and its address in the stripe that
        the field ``number`` says; or that of what a unit ``waits`` for."""
        order, units = self.order.payload, self.units
        port = Signal(units[0].port.payload.shape(), name=name)
        place = Signal(self.place_bits, name=waits)
        fault, failing = (Signal(Response, name=f"{name}_{each}") for each in ("fault", "failing"))
        first = Signal(name=f"{name}_first")
        m.d.comb += [
            port.eq(Array(getattr(unit, name).payload for unit in units)[order.unit]),
            place.eq(Array(getattr(unit, waits) for unit in units)[self.waiting.unit]),
            first.eq(reported & (fault == Response.OKAY) & (port.resp != Response.OKAY)),
            failing.eq(Mux(first, port.resp, fault)),
            outcome.note.eq(first | self.mark),
            outcome.address.eq(
                Mux(self.mark, Cat(place, self.waiting[number]), Cat(port.place, order[number]))
            ),
            outcome.resp.eq(failing),
        ]
        with m.If(due):
            m.d.sync += fault.eq(Mux(order.final, Response.OKAY, failing))

    def _judge_codec(self, m: Module, due: Signal, verdict: data.View) -> Signal:
        """The first error, and the literals up to it. Gives whether a stripe before this one had an error."""
        order = self.order.payload
        wrong = Signal()
        error = Signal(Error)
        found = Signal(Error)
        counts = due & ~order.raw
        m.d.comb += [found.eq(Mux(wrong, error, verdict.error)), self.verdict.payload.error.eq(error)]
        m.d.sync += self.verdict.valid.eq(counts & order.final)
        with m.If(counts):
            m.d.sync += [error.eq(found), wrong.eq(~order.final & (found != Error.NONE))]
        # The upper bits of the sum are counted a cycle later than the lower ones.
        low = Signal(len(verdict.literals))
        carry = Signal()
        high = Signal(len(self.verdict.payload.literals) - len(low))
        upper = Signal.like(high)
        m.d.comb += [upper.eq(high + carry), self.verdict.payload.literals.eq(Cat(low, upper))]
        m.d.sync += [
            Cat(low, carry).eq(Mux(self.verdict.valid, 0, low) + Mux(counts & ~wrong, verdict.literals, 0)),
            high.eq(Mux(self.verdict.valid, 0, upper)),
        ]
        return wrong

    def _find_end(self, m: Module, wrong: Signal) -> None:
        """Where the last stripe ended, or the first with an error."""
        end = Signal(SPAN_BITS)
        here = Signal(self.place_bits + 1)
        number = self.order.payload.number[: SPAN_BITS - self.place_bits]
        m.d.comb += [
            here.eq(Array(unit.end.payload for unit in self.units)[self.order.payload.unit]),
            self.end.eq(Mux(wrong, end, Cat(here[: self.place_bits], (number + here[-1])[: len(number)]))),
        ]
        # What comes before the report that is wrong does not matter.
        m.d.sync += end.eq(self.end)

    def _count(self, m: Module, due: Signal, wrong: Signal) -> None:
        """The bytes of all stripes, or of those up to the first with an error."""
        order = self.order.payload
        before = Signal(SPAN_BITS)
        here = Signal(self.place_bits + 1)
        m.d.comb += [
            here.eq(Array(unit.end.payload for unit in self.units)[order.unit] - order.place),
            self.end.eq(before + Mux(wrong, 0, here)),
        ]
        with m.If(due):
            m.d.sync += before.eq(Mux(order.final, 0, self.end))
