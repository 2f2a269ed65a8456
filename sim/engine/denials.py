"""Accesses to registers that have not the right to use them."""

from __future__ import annotations

from cdma.hdl.spec.protection import rights
from cdma.hdl.spec.registers.guards import DENIED_BITS

from .memory import BusError

__all__ = ["Denials"]


class Denials:
    """Refuses accesses without the right that ``protection`` asks for, counts them, and keeps the first."""

    def __init__(self, protection: str) -> None:
        self._mask, self._value = rights(protection)
        self.clear()

    def clear(self) -> None:
        """Forgets all."""
        self._count = 0
        self._first = {"address": 0, "prot": 0, "write": 0}

    def check(self, address: int, prot: int, *, write: bool) -> None:
        """Raises :class:`BusError` for an access without the right."""
        if prot & self._mask == self._value:
            return
        if not self._count:
            self._first = {"address": address & ~3, "prot": prot, "write": int(write)}
        self._count = min(self._count + 1, (1 << DENIED_BITS) - 1)
        raise BusError("SLVERR", address)

    def shown(self) -> dict[str, int]:
        """The fields of the register ``denied``."""
        return {**self._first, "count": self._count}
