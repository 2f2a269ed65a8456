"""What queue pairs may still move: their turns and their limits, in one memory, with one adder."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.memories import coding_of
from cdma.hdl.spec.options import LIMIT_BITS, WEIGHT_BITS


def lowest(bits: Value) -> Value:
    """The lowest bit that is set, alone."""
    return (bits & -bits)[: len(bits)]


def number_of(bits: Value) -> Value:
    """The number of the one bit that is set."""
    places = range(max(1, (len(bits) - 1).bit_length()))
    return Cat(Cat(bit for number, bit in enumerate(bits) if number >> place & 1).any() for place in places)


class TurnsSignature(wiring.Signature):
    """The turns of ``count`` pairs, seen from who chooses among them.

    ``add``, ``often``: Pulse, one bit for each: its debt is less by a turn, or what is left becomes a turn; or as after
        2**``often_log2`` turns.
    ``charge``, ``cost``: Pulse, one bit at most, of one that is ``rich``: so much is used. The cost stays until
        ``settled``.
    ``rich``, ``deep``, ``full``: Of each, while ``settled``: something is left; nothing will be after as many turns; a
        turn changes nothing.
    ``settled``: Low from the cycle after ``add`` or ``charge`` until they have taken effect. Neither comes meanwhile.
    """

    def __init__(self, count: int, cost_bits: int) -> None:
        super().__init__(
            {
                **{name: Out(count) for name in ("add", "charge")},
                "often": Out(1),
                "cost": Out(cost_bits),
                **{name: In(count) for name in ("rich", "deep", "full")},
                "settled": In(1),
            }
        )


class Accounts(wiring.Component):
    """Two accounts for each of ``count`` pairs, of its turn and of its limit. An amount is added now and then, and not
    saved; a charge may leave a debt, which is paid off first.

    One account after the other is read, changed, and read again to compare it: charges first, then turns, then limits. After
    a change of terms all are compared anew. After a reset they are 0, once their terms are written.

    ``turns``: Those of turns.
    ``row``, ``term``: The account that is read, a pair and in the highest bit whether of its limit; and, a cycle later,
        what software says of it: the weight of a turn, where 0 counts as 1, or the units of a limit, where 0 is none.
    ``changed``: Pulse: a term is another one.
    ``over``: Pulse: a period of the limits is over.
    ``limited``: One bit for each pair: what its limit allows is used up.
    ``step_log2``: A weight of 1 is worth 2**step_log2 units.
    """

    def __init__(
        self,
        count: int,
        cost_bits: int,
        *,
        step_log2: int,
        weight_bits: int = WEIGHT_BITS,
        limit_bits: int = LIMIT_BITS,
        often_log2: int = 10,
    ) -> None:
        self.step_log2 = step_log2
        self.weight_bits = weight_bits
        self.often_log2 = often_log2
        self.balance = signed(max(limit_bits, weight_bits + step_log2, cost_bits) + 1)
        self.pair = Signal(range(count), name="at")
        #: The account at ``pair`` is that of a limit; it is charged, or gets its amount.
        self.of_limit, self.pays, self.gets = (Signal(name=name) for name in ("of_limit", "pays", "gets"))
        #: The steps of an account. The last one may be the first of the next account.
        self.begins, self.looks, self.sums, self.repeats, self.compares = (
            Signal(name=name) for name in ("begins", "looks", "sums", "repeats", "compares")
        )
        #: Pairs that have a limit, and those that have something left of it.
        self.capped, self.free = (Signal(count, name=name) for name in ("capped", "free"))
        #: Nothing is known after a reset.
        self.fresh = Signal(init=1)
        super().__init__(
            {
                "turns": In(TurnsSignature(count, cost_bits)),
                "row": Out(len(self.pair) + 1),
                "term": In(max(limit_bits, weight_bits)),
                "changed": In(1),
                "over": In(1),
                "limited": Out(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.balances = memory = Memory(shape=self.balance, depth=1 << len(self.row), init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        here = Cat(self.pair, self.of_limit)
        m.d.comb += [
            self.row.eq(Mux(self.begins, self._choose(m), here)),
            self.limited.eq(self.capped & ~self.free),
            read.addr.eq(self.row),
            read.en.eq(self.begins | self.repeats),
            write.addr.eq(here),
            write.en.eq(self.sums),
        ]
        m.d.sync += [
            self.looks.eq(self.begins),
            self.sums.eq(self.looks),
            self.repeats.eq(self.sums),
            self.compares.eq(self.repeats),
        ]
        balance = Value.cast(coding_of(platform).guarded(memory, read.data)).as_signed()
        self._change(m, balance, write.data)
        return m

    def _choose(self, m: Module) -> Value:
        """Chooses the account that is next; gives its row."""
        turns, count = self.turns, len(self.capped)
        #: Charges of the limit and of the turn of ``charged``; turns and limits that get their amount.
        charges = Signal(2)
        charged = Signal.like(self.pair, name="charged")
        adds, dues = Signal(count, name="adds"), Signal(count, name="dues")
        #: All rows are compared, and this one is next.
        patrol = Signal()
        place = Signal.like(self.row, name="place")
        row = Signal.like(self.row, name="following")
        ends_add, ends_due = Signal(count, name="ends_add"), Signal(count, name="ends_due")
        urgent = charges.any() | adds.any()
        m.d.comb += [
            self.begins.eq((urgent | dues.any() | patrol) & ~self.looks & ~self.sums & ~self.repeats),
            turns.settled.eq(
                ~self.fresh
                & ~urgent
                & ~(
                    (self.pays | (self.gets & ~self.of_limit))
                    & (self.looks | self.sums | self.repeats | self.compares)
                )
            ),
            row.eq(place),
        ]
        with m.If(charges.any()):
            m.d.comb += row.eq(Cat(charged, charges[0]))
        with m.Elif(adds.any()):
            m.d.comb += row.eq(number_of(lowest(adds)))
        with m.Elif(dues.any()):
            m.d.comb += row.eq(Cat(number_of(lowest(dues)), 1))
        with m.If(self.begins):
            m.d.sync += [
                Cat(self.pair, self.of_limit).eq(row),
                self.pays.eq(charges.any()),
                self.gets.eq(~charges.any() & (adds.any() | dues.any())),
            ]
            with m.If(charges.any()):
                m.d.sync += charges.eq(charges & (charges - 1))
            with m.Elif(adds.any()):
                m.d.comb += ends_add.eq(lowest(adds))
            with m.Elif(dues.any()):
                m.d.comb += ends_due.eq(lowest(dues))
            with m.Else():
                m.d.sync += [
                    place.eq(place + 1),
                    patrol.eq(~place.all()),
                    self.fresh.eq(self.fresh & ~place.all()),
                ]
        m.d.sync += [
            adds.eq((adds & ~ends_add) | turns.add),
            dues.eq((dues & ~ends_due) | Mux(self.over, self.capped, 0)),
        ]
        with m.If(turns.charge.any()):
            m.d.sync += [
                charged.eq(number_of(turns.charge)),
                charges.eq(Cat((turns.charge & self.capped & self.free).any(), 1)),
            ]
        with m.If(self.changed):
            m.d.sync += [patrol.eq(1), place.eq(0)]
        return row

    def _change(self, m: Module, balance: Value, total: Value) -> None:
        """Changes the ``balance`` to ``total``, and compares it."""
        turns, pair = self.turns, self.pair
        weight = self.term[: self.weight_bits]
        turn = (weight | (weight == 0)) << self.step_log2
        many = turn << self.often_log2
        rich, deep, full = (getattr(turns, name).bit_select(pair, 1) for name in ("rich", "deep", "full"))
        free, capped = (each.bit_select(pair, 1) for each in (self.free, self.capped))
        often, some = Signal(name="often"), Signal(name="some")
        #: What is added, in the cycle of the sum: a turn, many, or the units of a limit; and nothing is left over.
        adds_turn, adds_many, adds_units, clears = (
            Signal(name=name) for name in ("adds_turn", "adds_many", "adds_units", "clears")
        )
        deeply = often & deep
        m.d.sync += [
            adds_turn.eq(self.gets & ~self.of_limit & ~deeply),
            adds_many.eq(self.gets & ~self.of_limit & deeply),
            adds_units.eq(self.gets & self.of_limit),
            clears.eq(self.fresh | (self.gets & Mux(self.of_limit, free, rich | (often & ~deep)))),
        ]
        before, change, cost = (
            Signal.like(Value.cast(total), name=name) for name in ("before", "change", "cost")
        )
        m.d.comb += [
            before.eq(Mux(clears, 0, balance)),
            cost.eq(turns.cost),
            change.eq(
                one_of((self.pays, ~cost), (adds_turn, turn), (adds_many, many), (adds_units, self.term))
            ),
            # What is subtracted is inverted, and one more carried in.
            total.eq((Cat(self.pays, before) + Cat(self.pays, change))[1:]),
            some.eq(balance > 0),
        ]
        with m.If(turns.add.any()):
            m.d.sync += often.eq(turns.often)
        with m.If(self.compares):
            with m.If(self.of_limit):
                m.d.sync += [free.eq(some), capped.eq(self.term != 0)]
            with m.Else():
                m.d.sync += [rich.eq(some), deep.eq(balance + many <= 0), full.eq(balance == turn)]
