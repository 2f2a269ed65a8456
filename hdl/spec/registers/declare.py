"""The words in which the blocks of the engine's map are written: fields by their access, and common registers."""

from __future__ import annotations

from .description import REGISTER_BITS, REGISTER_BYTES, Access, Field, Register

__all__ = ["address_pair", "constant", "lock", "number", "pulse", "register", "ro", "rw", "w1c"]


def constant(name: str, lsb: int, bits: int, value: int, doc: str) -> Field:
    """A field that always reads as ``value``."""
    return Field(name, lsb, bits, Access.CONSTANT, doc, value)


def ro(
    name: str,
    lsb: int,
    doc: str,
    bits: int = 1,
    *,
    choices: tuple[tuple[str, int], ...] = (),
    in_memory: bool = False,
) -> Field:
    """A field that hardware drives."""
    return Field(name, lsb, bits, Access.RO, doc, choices=choices, in_memory=in_memory)


def rw(name: str, lsb: int, doc: str, bits: int = 1, *, reset: int = 0, in_memory: bool = False) -> Field:
    """A field that software writes and hardware reads."""
    return Field(name, lsb, bits, Access.RW, doc, reset, in_memory=in_memory)


def pulse(name: str, lsb: int, doc: str) -> Field:
    """A bit that acts once when a one is written."""
    return Field(name, lsb, 1, Access.PULSE, doc)


def w1c(name: str, lsb: int, doc: str) -> Field:
    """A bit that hardware sets and that writing a one clears."""
    return Field(name, lsb, 1, Access.W1C, doc)


def lock(name: str, lsb: int, doc: str) -> Field:
    """A bit that writing a one sets until the hardware is reset."""
    return Field(name, lsb, 1, Access.LOCK, doc)


def register(
    name: str, offset: int, doc: str, *fields: Field, count: int = 0, locked_by: str = ""
) -> Register:
    """A register of ``fields``, or an array of ``count`` of them."""
    return Register(name, offset, doc, fields, count, locked_by)


def number(
    name: str, offset: int, access: Access, doc: str, bits: int = REGISTER_BITS, *, in_memory: bool = False
) -> Register:
    """A register that is one number."""
    return Register(name, offset, doc, (Field("value", 0, bits, access, doc, in_memory=in_memory),))


def address_pair(
    name: str, offset: int, doc: str, bits: int, *low: Field, high_reset: int = 0, locked_by: str = ""
) -> tuple[Register, Register]:
    """The two registers of an address of ``bits`` bits on a port, kept in memory.

    ``low`` are the fields of the lower half; ``high_reset`` is what the upper half resets to.
    """
    if bits > REGISTER_BITS:
        high = rw(
            "value",
            0,
            f"{doc} Bits above 31.",
            bits - REGISTER_BITS,
            reset=high_reset,
            in_memory=True,
        )
    else:
        high = constant("value", 0, REGISTER_BITS, 0, "This port has no address bits above 31.")
    return (
        Register(f"{name}_low", offset, f"{doc} Bits 31 to 0.", low, locked_by=locked_by),
        Register(
            f"{name}_high", offset + REGISTER_BYTES, f"{doc} Bits 63 to 32.", (high,), locked_by=locked_by
        ),
    )
