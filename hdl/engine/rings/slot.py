"""Calculates where in memory a record of a ring lies, and whether the engine may touch it, 16 bits at a time.

One of these serves all rings of an engine. A record needs its address once, and occupies the bus far longer than that
takes here. So one adder of 16 bits does for all rings what would otherwise be an adder and two comparisons of an
address's width for each.
"""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.register_ports import StoredSignature
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.registers.description import REGISTER_BITS
from cdma.hdl.spec.registers.map import register_map

__all__ = ["RingSlot"]

_LIMB = 16
_PAGE_LOG2 = 12
_RECORD_LOG2 = exact_log2(RECORD_BYTES)
#: The phases: the base is added; the window's base and limit are compared.
_BASE, _LOWEST, _HIGHEST = range(3)


class _Step(NamedTuple):
    """What is done in a cycle, to which limb: with the word that was asked for one cycle before."""

    phase: Signal
    limb: Signal
    last_limb: Signal


class RingSlot(wiring.Component):
    """The address of a record. It takes three cycles for every 16 bits of an address, and one more after ``start``.

    ``start``
        Begins. What describes the slot must not change until ``done``.
    ``channel``, ``completions``, ``ring_log2``
        The ring: its channel; of completions or of descriptors; it has ``2**ring_log2`` entries.
    ``index``
        The record in it, counted on past the ring's entries.
    ``stored``
        Reads the registers that say where the rings and the window are.
    ``done``
        High from the cycle in which ``address`` and ``allowed`` are valid, until the next ``start``.
    ``address``
        Where the record lies.
    ``allowed``
        The record is inside the window of the host port and inside its address space.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.registers = register_map(config)
        self.address_bits = config.host_address_bits
        self.limbs = -(-self.address_bits // _LIMB)
        super().__init__(
            {
                "start": In(1),
                "channel": In(1),
                "completions": In(1),
                "index": In(config.index_bits),
                "ring_log2": In(4),
                "stored": Out(StoredSignature(len(self.registers.kept))),
                "done": Out(1),
                "allowed": Out(1),
                "address": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        limbs = self.limbs
        busy = Signal()
        step = self._step(m, busy)
        mask = (C(1, len(self.index)) << self.ring_log2)[: len(self.index)] - 1
        offset = Cat(C(0, _RECORD_LOG2), (self.index & mask)[: len(self.index)])
        # The address turns by a limb in each step, so it is whole again after each phase.
        turning = Signal(limbs * _LIMB)
        carry = Signal()
        total = self._add(m, step, offset, turning, carry)

        beyond = total[self.address_bits - (limbs - 1) * _LIMB :].any() if self.address_bits < 64 else C(0)
        beyond |= offset[limbs * _LIMB :].any()
        with m.If(busy):
            into = Mux(step.phase == _BASE, total[:_LIMB], turning[:_LIMB])
            m.d.sync += [turning.eq(Cat(turning[_LIMB:], into)), carry.eq(total[_LIMB])]
            with m.If(step.last_limb):
                m.d.sync += [
                    # A sum begins without a carry; a comparison, which subtracts, begins with one.
                    carry.eq(1),
                    self.allowed.eq(self.allowed & Mux(step.phase == _BASE, ~beyond, total[_LIMB])),
                ]
                with m.If(step.phase == _HIGHEST):
                    m.d.sync += [busy.eq(0), self.done.eq(1)]
        with m.If(self.start):
            m.d.sync += [busy.eq(1), carry.eq(0), self.done.eq(0), self.allowed.eq(1)]
        m.d.comb += self.address.eq(turning[: self.address_bits])
        return m

    def _step(self, m: Module, busy: Signal) -> _Step:
        """Counts the limbs of each phase, and the phases."""
        phase = Signal(range(3))
        limb = Signal(range(max(self.limbs, 2)))
        next_phase = Signal.like(phase)
        next_limb = Signal.like(limb)
        last_limb = Signal()
        m.d.comb += last_limb.eq(limb == self.limbs - 1)
        with m.If(~busy):
            m.d.comb += [next_phase.eq(_BASE), next_limb.eq(0)]
        with m.Elif(last_limb):
            m.d.comb += [next_phase.eq(phase + 1), next_limb.eq(0)]
        with m.Else():
            m.d.comb += [next_phase.eq(phase), next_limb.eq(limb + 1)]
        m.d.sync += [phase.eq(next_phase), limb.eq(next_limb)]
        self._look_up(m, next_phase, next_limb)
        return _Step(phase, limb, last_limb)

    def _add(self, m: Module, step: _Step, offset: Value, turning: Signal, carry: Signal) -> Signal:
        """Adds a limb: of the base and the offset, or of the address and what it is compared with."""
        word = self.stored.data
        operand = Signal(_LIMB)
        m.d.comb += operand.eq(Mux(step.limb[0], word[_LIMB:], word[:_LIMB]))
        offset_limbs = [offset[n * _LIMB : (n + 1) * _LIMB] for n in range(-(-len(offset) // _LIMB))]
        left = Signal(_LIMB)
        right = Signal(_LIMB)
        total = Signal(_LIMB + 1)
        in_page = Signal(_LIMB)
        # The limit's register holds pages; the bytes within are ones.
        m.d.comb += in_page.eq(Mux(step.limb == 0, (1 << _PAGE_LOG2) - 1, 0))
        with m.Switch(step.phase):
            with m.Case(_BASE):
                m.d.comb += right.eq(operand)
                with m.Switch(step.limb):
                    for number, value in enumerate(offset_limbs):
                        with m.Case(number):
                            m.d.comb += left.eq(value)
            with m.Case(_LOWEST):
                m.d.comb += [left.eq(turning[:_LIMB]), right.eq(~operand)]
            with m.Default():
                m.d.comb += [left.eq(~turning[:_LIMB]), right.eq(operand | in_page)]
        m.d.comb += total.eq(left + right + carry)
        return total

    def _look_up(self, m: Module, phase: Signal, limb: Signal) -> None:
        """Asks for the register that the next step needs."""
        per_word = REGISTER_BITS // _LIMB
        with m.Switch(Cat(phase, self.completions, self.channel)):
            for channel, name in enumerate(CHANNELS):
                for completions, ring in enumerate(("ring", "completion")):
                    for number, what in (
                        (_BASE, f"{name}.{ring}_base"),
                        (_LOWEST, "host_window.base"),
                        (_HIGHEST, "host_window.limit"),
                    ):
                        with m.Case(number | completions << 2 | channel << 3), m.Switch(limb):
                            for first in range(0, self.limbs, per_word):
                                half = "high" if first else "low"
                                for each in range(first, min(first + per_word, self.limbs)):
                                    with m.Case(each):
                                        m.d.comb += self.stored.index.eq(
                                            self.registers.word(f"{what}_{half}")
                                        )
