"""Who may use the registers of an engine, what AxPROT of an access must say, and the codes of words in memories."""

from __future__ import annotations

__all__ = ["MEMORY_CODES", "PROTECTIONS", "USUAL_PROT", "rights"]

#: Bits of AxPROT that are looked at, and what they must be. Bit 0 is 1 in privileged accesses, bit 1 in those that are not
#: secure.
_RIGHTS = {"none": (0b000, 0b000), "privileged": (0b001, 0b001), "secure": (0b010, 0b000)}

#: What ``register_protection`` may be, in the order of the numbers by which the capability register says it.
PROTECTIONS = tuple(_RIGHTS)

#: What ``memories_protect`` may be, in the order of the numbers by which the capability register says it.
MEMORY_CODES = ("none", "parity", "secded")

#: AxPROT of software that may use every engine: privileged and secure.
USUAL_PROT = 0b001


def rights(protection: str) -> tuple[int, int]:
    """An access may use the registers if the bits of its AxPROT that the first number has are those of the second one."""
    return _RIGHTS[protection]
