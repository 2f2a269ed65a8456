"""Blocks, each made of registers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cdma.base.errors import ParameterError

from .field import Access, Field
from .naming import check_distinct, check_name, find
from .register import Register

__all__ = ["Block"]


@dataclass(frozen=True)
class Block:
    """Registers that belong together, at one base address or, for several instances, at several.

    ``instances``
        Name and base address of each; the only instance of a block usually has the block's name.
    ``external``
        The registers are not in the register file, which forwards reads to the hardware that keeps them. Such a
        block has read-only fields alone.
    ``survives_soft_reset``
        The stored fields keep their values where those of other blocks return to their reset values.
    """

    name: str
    doc: str
    registers: tuple[Register, ...]
    instances: tuple[tuple[str, int], ...]
    external: bool = False
    survives_soft_reset: bool = False

    def __post_init__(self) -> None:
        check_name("a block", self.name)
        if not self.registers or not self.instances:
            raise ParameterError(f"block {self.name} needs at least one register and one instance")
        check_distinct(f"block {self.name}", "register", [register.name for register in self.registers])
        end = 0
        for register in self.registers:
            if register.offset < end:
                raise ParameterError(
                    f"block {self.name}: register {register.name} at {register.offset:#x} overlaps or precedes "
                    f"the one before it, which ends at {end:#x}"
                )
            end = register.offset + register.bytes
            self._check_lock(register)
            if self.external and any(field.access is not Access.RO for field in register.fields):
                raise ParameterError(
                    f"block {self.name} is external; its register {register.name} must have read-only fields alone"
                )
        for instance, base in self.instances:
            check_name(f"an instance of block {self.name}", instance)
            if base < 0 or base % self.span:
                raise ParameterError(
                    f"{instance} is at {base:#x}; block {self.name} spans {self.span:#x} bytes, "
                    "and a base must be a multiple of that so that base and offset decode apart"
                )

    def _check_lock(self, register: Register) -> None:
        if not register.locked_by:
            return
        lock = self.field(register.locked_by)
        if lock.access not in (Access.LOCK, Access.RO) or lock.bits != 1:
            raise ParameterError(
                f"block {self.name}: register {register.name} is locked by {register.locked_by}, "
                "which is not one bit of access lock or ro"
            )

    @cached_property
    def span(self) -> int:
        """Bytes of address space that an instance takes: the next power of two."""
        end = self.registers[-1].offset + self.registers[-1].bytes
        return 1 << (end - 1).bit_length()

    def register(self, name: str) -> Register:
        """The register of that name."""
        return find(f"block {self.name}", "register", self.registers, name)

    def field(self, path: str) -> Field:
        """The field at ``register.field``."""
        register, _, field = path.partition(".")
        return self.register(register).field(field)
