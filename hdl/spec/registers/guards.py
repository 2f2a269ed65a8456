"""The registers that engines with guards have in the block ``engine``: which guards, and what they have refused."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.protection import MEMORY_CODES, PROTECTIONS

from .declare import constant, pulse, register, ro
from .description import Field, Register

__all__ = ["DENIED_BITS", "FLIPS_BITS", "guard_commands", "guard_registers", "guarded"]

#: Bits of the number of refused accesses.
DENIED_BITS = 15
#: Bits of the numbers of words that were wrong.
FLIPS_BITS = 16


def guarded(config: EngineConfig) -> bool:
    """Whether an engine has any of the guards that the register ``guards`` tells of."""
    return (
        config.register_protection != PROTECTIONS[0] or config.coded_memories or config.records.owner_bits > 0
    )


def guard_registers(config: EngineConfig, *, every: bool) -> tuple[Register, ...]:
    """The registers of the guards that the engine has, or with ``every`` of all."""
    found: list[Register] = []
    if guarded(config) or every:
        found.append(_guards(config, every=every))
    if config.register_protection != PROTECTIONS[0] or every:
        found.append(_DENIED)
    if config.coded_memories or every:
        found.append(_FLIPS)
    return tuple(found)


def guard_commands(config: EngineConfig, *, every: bool) -> tuple[Field, ...]:
    """What `command` does for these."""
    found: list[Field] = []
    if config.register_protection != PROTECTIONS[0] or every:
        found.append(pulse("clear_denied", 2, "Sets `denied` to 0, and the next refused access is recorded."))
    if config.coded_memories or every:
        found.append(pulse("clear_flips", 3, "Sets `flips` to 0."))
    return tuple(found)


def _guards(config: EngineConfig, *, every: bool) -> Register:
    choices, codes = (
        ", ".join(f"{number} {name}" for number, name in enumerate(names))
        for names in (PROTECTIONS, MEMORY_CODES)
    )
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
        constant(
            "memories_protect",
            2,
            2,
            MEMORY_CODES.index(config.memories_protect),
            f"The checks of words in memories: {codes}.",
        ),
        *(_owners(config) if config.records.owner_bits or every else ()),
    )


def _owners(config: EngineConfig) -> tuple[Field, ...]:
    return (
        constant("stream_id_bits", 4, 4, config.stream_id_bits, "Bits of the stream ID of a descriptor."),
        constant("substream_id_bits", 8, 5, config.substream_id_bits, "Bits of its substream ID."),
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

_FLIPS = register(
    "flips",
    0x34,
    "Words in memories that were found wrong, since the last `command.clear_flips` or reset of the hardware; a soft reset "
    "leaves them. A word counts once for as long as a reader has it. Each number stays at its largest.",
    ro("corrected", 0, "One bit was wrong and was put right.", FLIPS_BITS),
    ro(
        "lost",
        16,
        "More were wrong, or one that cannot be put right; `MEMORY` says it of descriptors.",
        FLIPS_BITS,
    ),
)
