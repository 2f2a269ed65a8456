"""What a register map is: blocks of registers of fields, as plain data."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar

from cdma.base.errors import ParameterError

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Part = TypeVar("_Part", bound=_Named)


def check_name(what: str, name: str) -> None:
    """Refuses a name that cannot be a part of names in Verilog, C and SystemRDL."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"{what} is named {name!r}; a name has lower-case letters, digits and single underscores, "
            "because it becomes part of Verilog, C and SystemRDL names"
        )


def check_distinct(owner: str, what: str, names: Sequence[str]) -> None:
    """Refuses a name that occurs twice among ``names``."""
    if len(set(names)) != len(names):
        raise ParameterError(f"{owner} has the {what}s {', '.join(names)}; a name may occur once")


def find(owner: str, what: str, parts: Iterable[_Part], name: str) -> _Part:
    """The one of ``parts`` that has this name."""
    parts = tuple(parts)
    for part in parts:
        if part.name == name:
            return part
    raise ParameterError(f"{owner} has no {what} {name!r}; it has {', '.join(part.name for part in parts)}")


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

    ``lsb``, ``bits``: The lowest bit in the register, and the number of bits.
    ``choices``: The values with a meaning, as ``(name, value)``; they become constants in C and an enumeration in
        SystemRDL.
    ``in_memory``: Hardware has no wires of the field, but reads it (access ``RW``) or writes it (access ``RO``) in the
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
    def in_flip_flops(self) -> bool:
        """Whether software writes flip-flops of the field, which keep what is written."""
        return self.access.writable and self.access is not Access.PULSE and not self.in_memory

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


@dataclass(frozen=True)
class Register:
    """One register of 32 bits, or an array of them, one after the other.

    ``offset``: Bytes from the base of the block.
    ``count``: Registers of the array; 0 is no array.
    ``locked_by``: ``register.field`` of the same block, one bit of access ``LOCK`` or ``RO``: while it is set, writes
        change nothing.
    """

    name: str
    offset: int
    doc: str
    fields: tuple[Field, ...]
    count: int = 0
    locked_by: str = ""

    def __post_init__(self) -> None:
        check_name("a register", self.name)
        if self.offset < 0 or self.offset % REGISTER_BYTES:
            raise ParameterError(f"register {self.name} is at {self.offset:#x}, which is not a multiple of 4")
        if self.count < 0:
            raise ParameterError(f"register {self.name} has count {self.count}; it must be 0 or more")
        if not self.fields:
            raise ParameterError(f"register {self.name} has no fields")
        check_distinct(f"register {self.name}", "field", [field.name for field in self.fields])
        if any(f.access is Access.RW for f in self.fields) and any(f.reported for f in self.fields):
            raise ParameterError(
                f"register {self.name} has fields that software writes and fields that hardware does; "
                "its word in memory has one writer"
            )
        used = 0
        for field in self.fields:
            if used & field.mask:
                raise ParameterError(f"register {self.name}: field {field.name} overlaps another one")
            used |= field.mask

    @property
    def bytes(self) -> int:
        """Bytes of address space that the register or the array takes."""
        return max(1, self.count) * REGISTER_BYTES

    @property
    def reset(self) -> int:
        """The value of the whole register after reset, in which fields that hardware drives are 0."""
        return sum(field.reset << field.lsb for field in self.fields)

    @property
    def stored_mask(self) -> int:
        """The bits that software writes and reads back."""
        return sum(field.mask for field in self.fields if field.access is Access.RW)

    @property
    def stored_reset(self) -> int:
        """The value of those bits after reset."""
        return self.reset & self.stored_mask

    @property
    def kept(self) -> bool:
        """Whether the register file's memory has a word for it."""
        return any(field.access is Access.RW or field.in_memory for field in self.fields)

    @property
    def writable(self) -> bool:
        """Whether any field can be written."""
        return any(field.access.writable for field in self.fields)

    def field(self, name: str) -> Field:
        return find(f"register {self.name}", "field", self.fields, name)

    def put(self, **values: int) -> int:
        """The register's value with the named fields set and all others 0."""
        return sum(self.field(name).put(value) for name, value in values.items())


@dataclass(frozen=True)
class Block:
    """Registers that belong together, at one base address or, for several instances, at several.

    ``instances``: Name and base address of each; the only instance of a block usually has the block's name.
    ``external``: The registers are not in the register file, which forwards reads to the hardware that keeps them. Such
        a block has read-only fields alone.
    ``survives_soft_reset``: The stored fields keep their values where those of other blocks return to their reset
        values.
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
    def guarded(self) -> dict[tuple[str, str], list[Placed]]:
        """The registers that software writes into that memory and that have a lock, by the instance and its lock."""
        found: dict[tuple[str, str], list[Placed]] = {}
        for placed in self.kept:
            if placed.register.stored_mask and placed.register.locked_by:
                found.setdefault((placed.instance, placed.register.locked_by), []).append(placed)
        return found

    @cached_property
    def external(self) -> dict[str, list[Placed]]:
        """The registers of each instance of a block that is external."""
        found: dict[str, list[Placed]] = {}
        for placed in self.placed():
            if placed.block.external:
                found.setdefault(placed.instance, []).append(placed)
        return found

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
        return find(self.name, "block", self.blocks, name)
