"""Fields of registers, and what software and hardware may do to them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from cdma.base.errors import ParameterError

from .naming import check_name

__all__ = ["REGISTER_BITS", "REGISTER_BYTES", "Access", "Field"]

REGISTER_BITS = 32
REGISTER_BYTES = REGISTER_BITS // 8


class Access(enum.Enum):
    """What software and hardware may do to a field."""

    #: Always reads as the reset value; writes change nothing.
    CONSTANT = "constant"
    #: Reads what hardware drives; writes change nothing.
    RO = "ro"
    #: Software writes it, hardware reads it.
    RW = "rw"
    #: What is written reaches hardware for one cycle; reads as 0.
    PULSE = "pulse"
    #: Hardware sets bits, writing ones clears them; a bit that is set and cleared in one cycle stays set.
    W1C = "w1c"
    #: Writing a one sets it, and only a reset of the hardware clears it.
    LOCK = "lock"

    @property
    def writable(self) -> bool:
        """Whether a write can have an effect."""
        return self not in (Access.CONSTANT, Access.RO)


@dataclass(frozen=True)
class Field:
    """Some bits of a register.

    ``lsb``, ``bits``
        The lowest bit in the register, and the number of bits.
    ``choices``
        The values with a meaning, as ``(name, value)``; they become constants in C and an enumeration in
        SystemRDL.
    ``in_memory``
        Hardware has no wires of the field, but reads it (access ``RW``) or writes it (access ``RO``) in the
        register file's memory, a register at a time.
    """

    name: str
    lsb: int
    bits: int
    access: Access
    doc: str
    reset: int = 0
    choices: tuple[tuple[str, int], ...] = ()
    in_memory: bool = False

    def __post_init__(self) -> None:
        check_name("a field", self.name)
        if self.in_memory and self.access not in (Access.RO, Access.RW):
            raise ParameterError(
                f"field {self.name} is {self.access.value} and in memory; only ro and rw can be"
            )
        if self.lsb < 0 or self.bits < 1 or self.lsb + self.bits > REGISTER_BITS:
            raise ParameterError(
                f"field {self.name} has {self.bits} bits from bit {self.lsb}; it must lie within bits 0 to "
                f"{REGISTER_BITS - 1}"
            )
        if not self._holds(self.reset):
            raise ParameterError(
                f"field {self.name} resets to {self.reset}, which {self.bits} bits do not hold"
            )
        if self.reset and self.access in (Access.RO, Access.PULSE):
            raise ParameterError(
                f"field {self.name} is {self.access.value} and resets to {self.reset}; "
                "only a stored or constant field has a reset value of its own"
            )
        for name, value in self.choices:
            check_name(f"a choice of field {self.name}", name)
            if not self._holds(value):
                raise ParameterError(
                    f"field {self.name} offers {name} = {value}, which {self.bits} bits do not hold"
                )

    def _holds(self, value: int) -> bool:
        return 0 <= value < 1 << self.bits

    @property
    def reported(self) -> bool:
        """Whether hardware writes the field in memory."""
        return self.in_memory and self.access is Access.RO

    @property
    def msb(self) -> int:
        """The field's highest bit in the register."""
        return self.lsb + self.bits - 1

    @property
    def mask(self) -> int:
        """The register's bits that are the field's."""
        return ((1 << self.bits) - 1) << self.lsb

    def get(self, value: int) -> int:
        """The field's value in the register's ``value``."""
        return (value & self.mask) >> self.lsb

    def put(self, value: int) -> int:
        """The register's value with the field set to ``value`` and all others 0; refuses what does not fit."""
        if not self._holds(value):
            raise ParameterError(
                f"{self.name} is {value!r}; the field has {self.bits} bits, so 0 to {(1 << self.bits) - 1}"
            )
        return value << self.lsb
