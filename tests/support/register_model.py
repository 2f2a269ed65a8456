"""Engines whose register maps differ in everything that can differ, for the tests of registers and their texts. What
software sees of a register map, as the description says: independent of the hardware.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import USUAL_PROT, Sideband
from cdma.hdl.spec.registers.description import Access, Placed, RegisterMap

CONFIGS = {
    "default": EngineConfig(),
    "small": EngineConfig(
        format=Format(word_bits=8, code_bits=4, values=(0, 1)),
        lanes=16,
        dev_data_bits=128,
        host_data_bits=64,
        dev_address_bits=13,
        host_address_bits=32,
        ring_entries=2,
    ),
    "odd": EngineConfig(
        format=Format(word_bits=8, code_bits=2, values=(7,)),
        dev_address_bits=40,
        host_address_bits=33,
        alignment="byte",
        crc=True,
        lossy="bf16",
        sideband=Sideband(axuser_bits=16),
        sideband_registers=True,
        register_protection="privileged",
        open_windows=True,
        memories_protect="secded",
    ),
    "shaped": EngineConfig(
        sideband=Sideband(axuser_bits=16),
        crc=True,
        pages=True,
        lossy="fp32",
        format=Format(word_bits=8),
        sideband_registers=True,
        register_protection="secure",
        dimensions=2,
        stream_id_bits=11,
        substream_id_bits=20,
    ),
    "pairs": EngineConfig(
        Format(16, levels=2), 16, channels=3, crc=True, msi=True, group_bursts=8, delta=True
    ),
    "many pairs": EngineConfig(channels=10, crc=True),
}
each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


@dataclass(frozen=True)
class Operation:
    """One access as a manager starts it."""

    address: int
    data: int | None = None
    strobes: int = 0xF
    prot: int = USUAL_PROT


class Model:
    """The stored bits of a map, as its description says they behave."""

    def __init__(self, registers: RegisterMap) -> None:
        self.at = {placed.address: placed for placed in registers.placed()}
        self.stored = {address: self._reset(placed) for address, placed in self.at.items()}

    @staticmethod
    def _reset(placed: Placed) -> int:
        return sum(f.reset << f.lsb for f in placed.register.fields if f.access is not Access.RO)

    def _locked(self, placed: Placed, driven: dict[tuple[str, str], int]) -> bool:
        if not placed.register.locked_by:
            return False
        name, _, bit = placed.register.locked_by.partition(".")
        lock = placed.block.register(name)
        address = placed.address - placed.register.offset - 4 * placed.index + lock.offset
        return bool(lock.field(bit).get(self.read(address, driven)[1]))

    def write(
        self, operation: Operation, driven: dict[tuple[str, str], int]
    ) -> tuple[bool, dict[tuple[str, str], int]]:
        """Whether the write answers OKAY, and the pulses it causes by register and field."""
        placed = self.at.get(operation.address & ~3)
        if placed is None:
            return False, {}
        if self._locked(placed, driven):
            return True, {}
        mask = sum(0xFF << 8 * byte for byte in range(4) if operation.strobes >> byte & 1)
        assert operation.data is not None
        old, ones = self.stored[placed.address], operation.data & mask
        pulses: dict[tuple[str, str], int] = {}
        new = old
        for f in placed.register.fields:
            if f.access is Access.RW:
                new = new & ~(f.mask & mask) | ones & f.mask
            elif f.access is Access.W1C:
                new &= ~(ones & f.mask)
            elif f.access is Access.LOCK:
                new |= ones & f.mask
            elif f.access is Access.PULSE:
                pulses[placed.name, f.name] = f.get(ones)
        self.stored[placed.address] = new
        return True, pulses

    def happen(self, events: dict[tuple[str, str], int]) -> None:
        """Hardware sets W1C bits."""
        for placed in self.at.values():
            for f in placed.register.fields:
                if f.access is Access.W1C:
                    self.stored[placed.address] |= f.put(events[placed.name, f.name])

    def soft_reset(self) -> None:
        """Stored fields return to their reset values, where neither lock nor block forbids it."""
        for placed in self.at.values():
            if not placed.block.survives_soft_reset:
                locks = sum(f.mask for f in placed.register.fields if f.access is Access.LOCK)
                kept = self.stored[placed.address] & locks
                self.stored[placed.address] = self._reset(placed) & ~locks | kept

    def read(self, address: int, driven: dict[tuple[str, str], int]) -> tuple[bool, int]:
        """Whether the read answers OKAY, and its data."""
        placed = self.at.get(address & ~3)
        if placed is None:
            return False, 0
        value = self.stored[placed.address]
        for f in placed.register.fields:
            if f.access is Access.RO:
                value |= f.put(driven[placed.name, f.name])
        return True, value
