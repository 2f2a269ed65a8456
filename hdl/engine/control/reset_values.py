"""After a reset, and after a soft reset, the words of the memory of registers get their reset values one by one."""

from collections.abc import Collection, Sequence

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.elaboration import Pace
from cdma.hdl.spec.registers.description import REGISTER_BITS, REGISTER_BYTES, Placed

from .interfaces import ChangeLayout


class ResetValues(wiring.Component):
    """Writes the reset values of the registers ``kept``, a word per cycle: after a reset of the hardware all words of all
    ``pairs``, after a soft reset those of a pair that do not survive it; after one of the first pair what it has ``alone``
    for each of them.

    ``pipelined``: A value is written a cycle after it is found.
    ``soft_reset``, ``free``: Pulses, one bit per pair; a soft reset happens while ``free`` is high, and one after the
        other.
    ``forget``: Pulse: that of a pair happens.
    ``settled``, ``rests``: Of each pair, whether all its words have their reset values; and whether those of all have.
    ``changes``: What is written.
    """

    def __init__(
        self, kept: Sequence[Placed], alone: Collection[int], *, pairs: int, pipelined: bool
    ) -> None:
        self.kept = kept
        self.alone = alone
        self.pairs = pairs
        self.pipelined = pipelined
        self.pair_bits = (pairs - 1).bit_length()
        super().__init__(
            {
                "soft_reset": In(pairs),
                "free": In(1),
                "forget": Out(pairs),
                "settled": Out(pairs),
                "rests": Out(1),
                "changes": Out(ChangeLayout(self.pair_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Signal(range(len(self.kept)))
        pair = Signal(self.pair_bits)
        all_words = Signal(init=1)
        all_pairs = Signal(init=1)
        reached = Signal()
        busy = Signal(init=1)
        waits = Signal(self.pairs)
        #: A value is written in this cycle: in a pipelined engine, in the one after it is found.
        writing = Signal()
        waiting = self.soft_reset | waits
        free: Value = self.free
        last_pair: Value = C(1)
        if self.pairs > 1:
            free = free & ~busy & ~writing
            last_pair = ~all_pairs | (pair == self.pairs - 1)
        m.d.comb += [
            reached.eq((word == len(self.kept) - 1) & last_pair),
            self.forget.eq(Mux(free, waiting & -waiting, 0)),
            self.rests.eq(~busy & ~writing & ~waits.any()),
        ]
        for number in range(self.pairs):
            mine = (busy | writing) & (all_words | Mux(all_pairs, int(number == 0), pair == number))
            m.d.comb += self.settled[number].eq(~mine & ~waits[number])
        m.d.sync += waits.eq(waiting & ~self.forget)
        with m.If(self.forget.any()):
            m.d.sync += [busy.eq(1), word.eq(0), all_pairs.eq(self.forget[0])]
            m.d.sync += pair.eq(one_of(*((bit, C(number)) for number, bit in enumerate(self.forget))))
        with m.Elif(busy):
            m.d.sync += busy.eq(~reached)
            with m.If(last_pair):
                m.d.sync += word.eq(Mux(reached, 0, word + 1))
            with m.If(all_pairs):
                m.d.sync += pair.eq(Mux(last_pair, 0, pair + 1))
            with m.If(reached):
                m.d.sync += all_words.eq(0)
        self._write(m, word, pair, all_pairs, writing, busy, all_words)
        return m

    def _write(
        self,
        m: Module,
        word: Signal,
        pair: Signal,
        all_pairs: Signal,
        writing: Signal,
        busy: Signal,
        all_words: Signal,
    ) -> None:
        """Writes the ``word`` of the ``pair``, if it is to have its reset value."""
        survives = Signal()
        alone = Signal()
        value = Signal(REGISTER_BITS, name="reset_value", reset_less=True)
        place = Signal.like(word, name="reset_place", reset_less=True)
        row = Signal.like(pair, name="reset_row", reset_less=True)
        mine = ~survives & Mux(alone, all_pairs, ~all_pairs | (pair == 0))
        domain = Pace(m, self.pipelined).d
        domain += [value.eq(0), place.eq(word), row.eq(pair), writing.eq(busy & (all_words | mine))]
        with m.Switch(word):
            for number, placed in enumerate(self.kept):
                block, register = placed.block, placed.register
                if register.reset or block.survives_soft_reset or placed.address in self.alone:
                    with m.Case(number):
                        m.d.comb += survives.eq(int(block.survives_soft_reset))
                        m.d.comb += alone.eq(int(placed.address in self.alone))
                        domain += value.eq(register.stored_reset)
        m.d.comb += [
            self.changes.index.eq(place),
            self.changes.pair.eq(row),
            self.changes.data.eq(value),
            self.changes.enable.eq(writing.replicate(REGISTER_BYTES)),
        ]
