"""The stripes of a descriptor: device memory lies in stripes, one after the other at each of the device ports in turn."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import Blocks, Command
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.engine.path.base import base_command
from cdma.hdl.engine.path.switches import Route


class Stripe(data.StructLayout):
    """What a descriptor has of one stripe.

    ``unit``: The unit at whose port it lies.
    ``first``, ``last``: Its bytes in device memory, both included.
    ``words``: Its raw words.
    ``raw``, ``zeros``: Of the descriptor's route.
    ``final``: The descriptor has no stripe after it.
    ``tail``: The bytes that are meant of its last word, 0 for all.
    ``user``: Of the descriptor's command.
    ``padding``: It lies in no memory.
    ``delta``, ``base``: It has a base, at the same place of the stripe with this number: the upper bits of an address.
    """

    def __init__(
        self,
        address_bits: int,
        units: int,
        stripe_words: int,
        user_bits: int = 0,
        tail_bits: int = 0,
        *,
        shaped: bool = False,
        base_bits: int = 0,
    ) -> None:
        super().__init__(
            {
                "unit": range(units),
                "first": address_bits,
                "last": address_bits,
                "words": range(stripe_words + 1),
                "raw": 1,
                "zeros": 1,
                "final": 1,
                **optional(tail_bits, tail=tail_bits),
                "user": user_bits,
                **optional(shaped, padding=1),
                **optional(base_bits, delta=1, base=base_bits),
            }
        )


def _remainder_of_three(m: Module, value: Value) -> Value:
    """``value`` modulo 3, two bits, in a tree of two-bit digits, each of which is worth itself, since 4 is 1 modulo 3."""
    digits = [Value.cast(value[at : at + 2]) for at in range(0, len(value), 2)]
    # A digit of 3 is a 0.
    level = [Cat(digit == 1, digit == 2) for digit in digits]
    while len(level) > 1:
        sums = []
        for number, (a, b) in enumerate(zip(level[::2], level[1::2], strict=False)):
            # A signal, because the next level names it many times.
            total = Signal(2, name=f"remainder_{len(level)}_{number}")
            m.d.comb += [
                total[0].eq((a[0] & ~b.any()) | (~a.any() & b[0]) | (a[1] & b[1])),
                total[1].eq((a[1] & ~b.any()) | (~a.any() & b[1]) | (a[0] & b[0])),
            ]
            sums.append(total)
        level = sums + level[2 * len(sums) :]
    return level[0]


def unit_of(m: Module, number: Value, units: int) -> Value:
    """The unit of the stripe with this number: the number modulo ``units``, which is a power of two or three times one."""
    low = (units & -units).bit_length() - 1
    if units == 1 << low:
        return number[:low]
    assert units == 3 << low, units
    return Cat(number[:low], _remainder_of_three(m, number[low:]))


class StripeWalk(wiring.Component):
    """Gives the stripes of each descriptor in the order of their addresses.

    Throughput: a stripe per cycle, and two cycles more for each descriptor. ``command`` and ``route`` are taken with the
    last stripe.

    ``shaped``: A descriptor has a command and a route for each extent of its data: all but the last one with ``more``,
        and with ``padding`` where it lies in no memory. Padding goes to the unit after the one before.
    ``command``: Where the descriptor's raw data begin in device memory. Its last address may be beyond their end.
    ``route``: How many words they are, and their way.
    ``base``: If ``based``: the descriptor's base, which lies in stripes as the data do.
    ``stripes``: The stripes. All but ``words`` come from registers and from ``command`` and ``route`` with few gates.
    """

    def __init__(
        self,
        address_bits: int,
        units: int,
        stripe_bytes: int,
        word_bits: int,
        user_bits: int = 0,
        tail_bits: int = 0,
        *,
        shaped: bool = False,
        based: bool = False,
    ) -> None:
        self.units = units
        self.shaped = shaped
        self.based = based
        self.tail_bits = tail_bits
        self.word_log2 = exact_log2(word_bits // 8)
        self.blocks = Blocks(address_bits, stripe_bytes, 1)
        flags = ("more", "padding") if shaped else ()
        words = stripe_bytes * 8 // word_bits
        base_bits = (address_bits - exact_log2(stripe_bytes)) * based
        stripe = Stripe(address_bits, units, words, user_bits, tail_bits, shaped=shaped, base_bits=base_bits)
        super().__init__(
            {
                "command": In(stream.Signature(Command(address_bits, *flags, user=user_bits))),
                "route": In(stream.Signature(Route(tail_bits))),
                **optional(based, base=In(stream.Signature(base_command(address_bits, user_bits)))),
                "stripes": Out(stream.Signature(stripe)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        blocks, command, route = self.blocks, self.command.payload, self.route.payload
        stripe = self.stripes.payload
        place_bits = blocks.beat_log2 - self.word_log2
        offset = command.first[self.word_log2 : blocks.beat_log2]
        busy = Signal()
        settled = Signal()
        fresh = Signal()
        final = Signal()
        #: Words of the last stripe from the beginning of that on, but 0 where it is whole, and the stripes that begin after
        #: the one in hand, and one more where the last is whole.
        tail = Signal(place_bits)
        left = Signal(len(route.words) + 1 - place_bits)
        whole = Signal()
        block = Signal(blocks.block_bits)
        following = Signal(blocks.block_bits + 1)
        wrapped = Signal()
        unit = Signal(range(self.units))
        step = Signal()
        number = blocks.beat(command.first, command.last, wrapped, block, C(0, 0))
        # Words are counted from the beginning of the first stripe.
        m.d.comb += [
            self.stripes.valid.eq(settled),
            step.eq(settled & self.stripes.ready),
            self.command.ready.eq(step & final),
            self.route.ready.eq(step & final),
            following.eq(block + 1),
            whole.eq(tail == 0),
        ]
        with m.If(~busy):
            begins = self.command.valid & self.route.valid
            if self.based:
                begins = begins & self.base.valid
            at_first = unit_of(m, command.first[blocks.beat_log2 :], self.units)
            m.d.sync += [
                busy.eq(begins),
                fresh.eq(1),
                wrapped.eq(0),
                block.eq(blocks.block(command.first)),
                unit.eq(Mux(command.padding, unit, at_first) if self.shaped else at_first),
                Cat(tail, left).eq(route.words + offset),
            ]
        with m.Elif(~settled):
            m.d.sync += [settled.eq(1), final.eq(left == whole)]
        with m.Elif(step):
            m.d.sync += [
                settled.eq(~final),
                busy.eq(~final),
                fresh.eq(0),
                final.eq(left == Cat(~whole, whole)),
                left.eq(left - 1),
                block.eq(following),
                wrapped.eq(wrapped | following[-1]),
                unit.eq(Mux(unit == self.units - 1, 0, unit + 1)),
            ]

        begin = Mux(fresh, offset, 0)
        end = Mux(final, Cat(tail, whole), 1 << place_bits)
        last = Mux(final, tail - 1, ~C(0, place_bits))
        m.d.comb += [
            stripe.unit.eq(unit),
            stripe.first.eq(Cat(C(0, self.word_log2), begin, number)),
            stripe.last.eq(Cat(~C(0, self.word_log2), last[:place_bits], number)),
            stripe.words.eq(end - begin),
            stripe.raw.eq(route.raw),
            stripe.zeros.eq(route.zeros),
            stripe.user.eq(command.user),
            stripe.final.eq(final & ~command.more if self.shaped else final),
        ]
        if self.tail_bits:
            m.d.comb += stripe.tail.eq(Mux(final, route.tail, 0))
            with m.If(stripe.tail != 0):
                m.d.comb += stripe.last[: self.word_log2].eq(stripe.tail - 1)
        if self.shaped:
            m.d.comb += stripe.padding.eq(command.padding)
        if self.based:
            self._walk_base(m, busy, step)
        return m

    def _walk_base(self, m: Module, busy: Signal, step: Signal) -> None:
        """Counts the stripes of the base with those of the data."""
        blocks, base, stripe = self.blocks, self.base.payload, self.stripes.payload
        #: The upper bit says that the others have passed zero.
        block = Signal(blocks.block_bits + 1, name="base_block")
        with m.If(~busy):
            m.d.sync += block.eq(blocks.block(base.first))
        with m.Elif(step):
            m.d.sync += block.eq(block + 1)
        m.d.comb += [
            self.base.ready.eq(step & stripe.final),
            stripe.delta.eq(base.delta),
            stripe.base.eq(blocks.beat(base.first, base.last, block[-1], block[:-1], C(0, 0))),
        ]
