"""The map: blocks at their addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from cdma.base.errors import ParameterError

from .block import Block
from .field import REGISTER_BYTES
from .naming import check_distinct, check_name, find
from .register import Register

__all__ = ["Placed", "RegisterMap"]


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
