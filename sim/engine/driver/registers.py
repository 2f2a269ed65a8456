"""The registers of an engine by name, through whatever reaches them."""

from __future__ import annotations

from typing import Protocol

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map

__all__ = ["Backend", "Registers"]

#: Offsets and field positions are the same for every engine, so any configuration serves.
_MAP = register_map(EngineConfig(), every=True)


class Backend(Protocol):
    """What reaches the registers: a memory map, a simulation, a debugger."""

    def read32(self, address: int, /) -> int:
        """Reads the register at ``address`` from the engine's base."""

    def write32(self, address: int, value: int, /) -> object:
        """Writes it; the write has reached the engine when the call returns."""


class Registers:
    """Reads and writes registers and their fields by name: those of a queue pair, whose page is at ``base``."""

    def __init__(self, backend: Backend, base: int = 0) -> None:
        self._backend = backend
        self.base = base

    def read(self, name: str) -> int:
        """Reads a register."""
        return self._backend.read32(self.base + _MAP[name].address)

    def write(self, name: str, value: int) -> None:
        """Writes a register."""
        self._backend.write32(self.base + _MAP[name].address, value)

    def write_array(self, name: str, index: int, value: int) -> None:
        """Writes one register of an array."""
        self._backend.write32(self.base + _MAP[f"{name}[0]"].address + 4 * index, value)

    def fields(self, name: str) -> dict[str, int]:
        """Reads a register, and returns the values of its fields."""
        value = self.read(name)
        return {field.name: field.get(value) for field in _MAP[name].register.fields}

    def set(self, name: str, **fields: int) -> None:
        """Writes the named fields of a register, and 0 to the others."""
        self.write(name, _MAP[name].register.put(**fields))

    def read64(self, name: str) -> int:
        """Reads two registers as one number: the low half first, because a counter then latches the high half."""
        low = self.read(f"{name}_low")
        return self.read(f"{name}_high") << 32 | low

    def write64(self, name: str, value: int) -> None:
        """Writes one number to two registers."""
        self.write(f"{name}_low", value & 0xFFFFFFFF)
        self.write(f"{name}_high", value >> 32)
