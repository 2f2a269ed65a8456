"""The registers that engines with guards have in the block ``engine``: which guards, and what they have refused."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.protection import PROTECTIONS

from .declare import constant, pulse, register, ro
from .description import Field, Register

__all__ = ["DENIED_BITS", "guard_commands", "guard_registers", "guarded"]

#: Bits of the number of refused accesses.
DENIED_BITS = 15


def guarded(config: EngineConfig) -> bool:
    """Whether an engine has any of the guards that the register ``guards`` tells of."""
    return config.register_protection != PROTECTIONS[0]


def guard_registers(config: EngineConfig, *, every: bool) -> tuple[Register, ...]:
    """The registers of the guards that the engine has, or with ``every`` of all."""
    found: list[Register] = []
    if guarded(config) or every:
        found.append(_guards(config))
    if config.register_protection != PROTECTIONS[0] or every:
        found.append(_DENIED)
    return tuple(found)


def guard_commands(config: EngineConfig, *, every: bool) -> tuple[Field, ...]:
    """What `command` does for these."""
    if config.register_protection != PROTECTIONS[0] or every:
        return (pulse("clear_denied", 2, "Sets `denied` to 0, and the next refused access is recorded."),)
    return ()


def _guards(config: EngineConfig) -> Register:
    choices = ", ".join(f"{number} {name}" for number, name in enumerate(PROTECTIONS))
    return register(
        "guards",
        0x2C,
        "What else is checked; there where `host_port.guarded` is 1.",
        constant(
            "register_protection",
            0,
            2,
            PROTECTIONS.index(config.register_protection),
            f"What an access to registers must be: {choices}. Any other is answered SLVERR and does nothing.",
        ),
    )


_DENIED = register(
    "denied",
    0x30,
    "Accesses without the right, since the last `command.clear_denied` or reset of the hardware; a soft reset "
    "leaves them. The first one is kept.",
    ro("address", 0, "Its address.", 12),
    ro("prot", 12, "Its AxPROT.", 3),
    ro("write", 15, "It was a write."),
    ro(
        "count",
        16,
        "How many there were; stays at the largest number. While 0, the other fields mean nothing.",
        DENIED_BITS,
    ),
)
