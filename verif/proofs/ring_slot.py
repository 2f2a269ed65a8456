"""Where a record of a ring lies, and whether the engine may touch it."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Assert, Assume, C, Cover, Module, Mux, Signal, Value

from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.rings.slot import RingSlot
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.registers.description import REGISTER_BITS
from cdma.hdl.spec.registers.map import RegisterMap

from .bench import Bench, fixed
from .design import engine_with
from .proof import Proof

__all__ = ["PROOFS", "Finding", "stored"]

_PAGE = (1 << 12) - 1


def stored(m: Module, registers: RegisterMap, bits: int, port: Value) -> dict[str, Value]:
    """Gives hardware the registers that say where the rings and the window of the host port are: anything that they may
    hold, which stays. Bits beyond an address, and those within a record or a page, are none of the registers'."""
    places = {
        **{f"{name}.{ring}_base": RECORD_BYTES - 1 for name in CHANNELS for ring in ("ring", "completion")},
        "host_window.base": _PAGE,
        "host_window.limit": _PAGE,
    }
    asked = Signal.like(port.index)
    m.d.sync += asked.eq(port.index)
    values: dict[str, Value] = {}
    with m.Switch(asked):
        for place, within in places.items():
            values[place] = value = fixed(m, place.replace(".", "_"), bits)
            m.d.comb += Assume(value & within == (within if place.endswith("limit") else 0))
            for half, word in zip(
                ("low", "high"), (value[:REGISTER_BITS], value[REGISTER_BITS:]), strict=True
            ):
                if len(word):
                    with m.Case(registers.word(f"{place}_{half}")):
                        m.d.comb += port.data.eq(word)
    return values


class Finding(Bench):
    """A search begins in the first cycle, whatever was there before, and has the right end after the cycles it may take.

    The registers of the block begin with anything, and nothing begins a second search, so the depth is no bound.
    """

    any_start = True

    def __init__(self, slot: RingSlot) -> None:
        super().__init__()
        self.slot = slot

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.slot
        bits = dut.address_bits
        takes = 3 * dut.limbs + 3
        values = stored(m, dut.registers, bits, dut.stored)
        cycle = Signal(range(takes + 2))
        m.d.sync += cycle.eq(Mux(cycle == takes + 1, cycle, cycle + 1))
        m.d.comb += dut.start.eq(cycle == 0)
        for name in ("channel", "completions", "index", "ring_log2"):
            port = getattr(dut, name)
            m.d.comb += port.eq(fixed(m, f"any_{name}", len(port)))
        rings = [values[f"{name}.{ring}_base"] for name in CHANNELS for ring in ("ring", "completion")]
        offload, prefetch = (Mux(dut.completions, done, asked) for asked, done in (rings[:2], rings[2:]))
        place = dut.index & ((C(1, len(dut.index) + 1) << dut.ring_log2) - 1)
        address = Mux(dut.channel, prefetch, offload) + place * RECORD_BYTES
        low, high = values["host_window.base"], values["host_window.limit"]
        inside = (address >= low) & (address <= high)
        over = (cycle > takes - 1) & (cycle < takes + 1)
        m.d.comb += [
            Assert((cycle < 1) | (dut.done == (cycle >= takes - 2))),
            Assert(~over | (dut.allowed == inside)),
            Assert(~(over & dut.allowed) | (dut.address == address)),
            Cover(over & dut.allowed & (place > 1)),
            Cover(over & ~dut.allowed & (address > high)),
            Cover(over & ~dut.allowed & (address < low)),
        ]


def _finding(bits: int) -> Proof:
    config = replace(EngineConfig(), host_address_bits=bits)
    return Proof(
        name="ring_slot",
        config=f"{bits} bits of address",
        claim="a record of a ring is where its index says; whether it is inside the window and the address space",
        blocks=(RingSlot,),
        built_so=engine_with(options=True, realign=True, units=True),
        bench=lambda: Finding(RingSlot(config)),
        method="bmc",
        depth=20,
        cover=20,
    )


PROOFS = [_finding(40), _finding(64)]
