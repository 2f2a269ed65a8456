"""Blocks, each made of registers. The map: blocks at their addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from cdma.base.errors import ParameterError

from .field import REGISTER_BYTES, Access, Field, Register, check_distinct, check_name, find

__all__ = ["Block", "Placed", "RegisterMap"]


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


@dataclass(frozen=True)
class Placed:
    """One register of 32 bits at its address."""

    block: Block
    instance: str
    register: Register
    index: int
    address: int

    @property
    def name(self) -> str:
        """``instance.register``, with ``[index]`` where there is an array."""
        suffix = f"[{self.index}]" if self.register.count else ""
        return f"{self.instance}.{self.register.name}{suffix}"


@dataclass(frozen=True)
class RegisterMap:
    """All registers of one bus: a power-of-two range of addresses."""

    name: str
    doc: str
    blocks: tuple[Block, ...]
    address_bits: int

    def __post_init__(self) -> None:
        check_name("a register map", self.name)
        ranges = sorted(
            (base, base + block.span, instance) for block in self.blocks for instance, base in block.instances
        )
        check_distinct(self.name, "block", [block.name for block in self.blocks])
        check_distinct(self.name, "instance", [instance for _, _, instance in ranges])
        for (_, end, before), (start, _, after) in pairwise(ranges):
            if start < end:
                raise ParameterError(f"{after} at {start:#x} overlaps {before}, which ends at {end:#x}")
        if ranges and ranges[-1][1] > 1 << self.address_bits:
            raise ParameterError(
                f"{ranges[-1][2]} ends at {ranges[-1][1]:#x}, "
                f"past the {self.address_bits} address bits of {self.name}"
            )

    def placed(self) -> Iterator[Placed]:
        """Every register, by rising address."""
        order = [(base, instance, block) for block in self.blocks for instance, base in block.instances]
        for base, instance, block in sorted(order, key=lambda entry: entry[0]):
            for register in block.registers:
                for index in range(max(1, register.count)):
                    address = base + register.offset + index * REGISTER_BYTES
                    yield Placed(block, instance, register, index, address)

    @cached_property
    def kept(self) -> tuple[Placed, ...]:
        """The registers that the register file keeps in its memory, in the order of its words."""
        return tuple(placed for placed in self.placed() if placed.register.kept)

    @cached_property
    def words(self) -> dict[int, int]:
        """The word of that memory which holds the register at an address."""
        return {placed.address: word for word, placed in enumerate(self.kept)}

    def word(self, name: str) -> int:
        """The word of that memory which holds the register ``instance.register``."""
        return self.words[self[name].address]

    @cached_property
    def _by_name(self) -> dict[str, Placed]:
        return {placed.name: placed for placed in self.placed()}

    def __getitem__(self, name: str) -> Placed:
        """The register called ``instance.register`` or ``instance.register[index]``."""
        try:
            return self._by_name[name]
        except KeyError:
            raise ParameterError(f"{self.name} has no register {name!r}") from None

    def block(self, name: str) -> Block:
        """The block of that name."""
        return find(self.name, "block", self.blocks, name)
