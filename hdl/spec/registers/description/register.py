"""Registers, each made of fields."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.base.errors import ParameterError

from .field import REGISTER_BYTES, Access, Field
from .naming import check_distinct, check_name, find

__all__ = ["Register"]


@dataclass(frozen=True)
class Register:
    """One register of 32 bits, or an array of them, one after the other.

    ``offset``
        Bytes from the base of the block.
    ``count``
        Registers of the array; 0 is no array.
    ``locked_by``
        ``register.field`` of the same block, one bit of access ``LOCK`` or ``RO``: while it is set, writes
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
        """The field of that name."""
        return find(f"register {self.name}", "field", self.fields, name)

    def put(self, **values: int) -> int:
        """The register's value with the named fields set and all others 0."""
        return sum(self.field(name).put(value) for name, value in values.items())
