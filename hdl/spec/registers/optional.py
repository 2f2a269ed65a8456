"""The registers that an option adds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import (
    COUNTERS,
    LEVEL_BITS,
    LIMIT_BITS,
    PERIOD_BITS,
    SIDEBAND_POSITIONS,
    SIDEBAND_TARGETS,
    SIDEBAND_USER_BITS,
    TURN_LOG2,
    UNIT_LOG2,
    WEIGHT_BITS,
)
from cdma.hdl.spec.records import SHAPE_RECORD, RecordOptions, descriptor_fields
from cdma.hdl.spec.shape import MAX_DIMENSIONS

from .declare import (
    RecordPart,
    address_pair,
    constant,
    lock,
    number,
    pulse,
    record_parts,
    record_registers,
    register,
    ro,
    rw,
    w1c,
)
from .description import REGISTER_BITS, REGISTER_BYTES, Access, Block, Field, Register


def _halves(number_of_counter: int, name: str, doc: str) -> tuple[Register, Register]:
    offset = 8 * number_of_counter
    return (
        number(f"{name}_low", offset, Access.RO, f"{doc} Bits 31 to 0; reading latches the rest."),
        number(
            f"{name}_high", offset + 4, Access.RO, f"{doc} Bits 63 to 32, as of the last read of a low half."
        ),
    )


COUNTERS_BLOCK = Block(
    "counters",
    "What a channel has done, 64 bits each. Reading a low half latches its high half: "
    "read low, then high, from one thread at a time, and the 64 bits belong together.",
    tuple(half for index, (name, doc) in enumerate(COUNTERS) for half in _halves(index, name, doc)),
    (("offload_counters", 0x400), ("prefetch_counters", 0x480)),
    external=True,
)


_SHARED = "shared"
#: The words of several fields, by number: they come after the strides, which take two words each.
_FIRST = 2 * MAX_DIMENSIONS
_NAMES = {
    _FIRST + place: name
    for place, name in enumerate(("extent_1", "extent_2", "extent_3", "order", "extent_4", "margins"))
}


def shape_parts() -> list[tuple[str, RecordPart]]:
    """Every field of the extension, cut into words, with the name of its register."""
    return [(_NAMES.get(part.word, part.register), part) for part in record_parts(SHAPE_RECORD, _SHARED)]


def _block() -> Block:
    registers = []
    for name, group in groupby(shape_parts(), lambda pair: pair[0]):
        parts = [part for _, part in group]
        fields = tuple(
            Field(part.field, part.lsb, part.bits, Access.RW, part.record.doc, in_memory=True)
            for part in parts
        )
        doc = parts[0].record.doc if len(parts) == 1 else f"{', '.join(field.name for field in fields)}."
        registers.append(register(name, parts[0].word * REGISTER_BYTES, doc, *fields))
    return Block(
        "shape",
        "The shape of the descriptor in the block `push`, where that has `shaped`. Write it before `push.submit`, and not "
        "while `push.status.pending` is 1. The fields lie as in the extension in memory.",
        tuple(registers),
        (("shape", 0x500),),
    )


SHAPE_BLOCK = _block()


_BASE = 0x94
_TARGETS = dict(
    zip(
        SIDEBAND_TARGETS, ("data in device memory", "data in host memory", "the channel's rings"), strict=True
    )
)
_SIDEBAND_DOCS = {
    "cache": "AxCACHE.",
    "prot": "AxPROT.",
    "qos": "AxQOS.",
    "user": "AxUSER, of as many bits as `engine.host_port.user_bits`.",
}


def sideband_registers(config: EngineConfig, *, every: bool) -> list[Register]:
    """A register for each target of a channel, if the engine has them or with ``every``."""
    if not (config.sideband_registers or every):
        return []
    return [
        _sideband(config, target, _BASE + REGISTER_BYTES * index, every=every)
        for index, target in enumerate(SIDEBAND_TARGETS)
    ]


def _sideband(config: EngineConfig, target: str, offset: int, *, every: bool) -> Register:
    values = config.sideband.values(target)
    if every and "user" not in values:
        values["user"] = (SIDEBAND_USER_BITS, 0)
    return register(
        f"{target}_sideband",
        offset,
        f"What addresses of {_TARGETS[target]} say beside. What is written while `status.busy` is 1 waits until it is 0, so "
        "that nothing changes under way.",
        *(
            rw(name, SIDEBAND_POSITIONS[name], _SIDEBAND_DOCS[name], bits, reset=value)
            for name, (bits, value) in values.items()
        ),
    )


_OWNER_DOCS = {
    "substream": "The substream ID.",
    "stream": "The stream ID.",
    "substream_valid": "There is a substream ID.",
}


def owner_block(fields: Mapping[str, tuple[int, int]]) -> Block:
    """The block of an engine whose owners have these fields; see :func:`~cdma.hdl.spec.options.owner_fields`."""

    def owner(*, ones: bool = False) -> tuple[Field, ...]:
        return tuple(
            rw(name, lsb, _OWNER_DOCS[name], bits, reset=(1 << bits) - 1 if ones else 0)
            for name, (lsb, bits) in fields.items()
        )

    locked = "lock.locked"
    return Block(
        "owner",
        "Whose a channel's transfers may be: after a reset of the hardware that of stream 0, without a substream, alone. "
        "The fields lie as in `owner` of a descriptor.",
        (
            register(
                "value",
                0x00,
                "What the owner of a descriptor must be in the bits of `mask`; any other is refused as `OWNER`.",
                *owner(),
                locked_by=locked,
            ),
            register("mask", 0x04, "The bits that are compared.", *owner(ones=True), locked_by=locked),
            register(
                "ring",
                0x08,
                "Whose the channel's rings and lists of pages are. What is written while `status.busy` is 1 waits until it "
                "is 0.",
                *owner(),
                locked_by=locked,
            ),
            register(
                "lock",
                0x0C,
                "Freezes all of these until the hardware is reset.",
                lock("locked", 0, "The others ignore writes."),
            ),
        ),
        (("offload_owner", 0x140), ("prefetch_owner", 0x160)),
        survives_soft_reset=True,
    )


#: A message is a word.
_WORD_BITS = 2


def message_block(config: EngineConfig) -> Block:
    """The block of the engine that ``config`` describes."""
    locked = "status.locked"
    address_bits = config.host_address_bits
    word = rw(
        "word",
        _WORD_BITS,
        "The address without its 2 low bits, which are 0.",
        min(address_bits, REGISTER_BITS) - _WORD_BITS,
        in_memory=True,
    )
    doc = "Where messages are written. No window holds for it."
    return Block(
        "message",
        "A channel's interrupt as a write of a word on the host port: one for each event that sets a bit of `irq_status` "
        "which `irq_enable` names, and one where software enables a bit that is set. Events that come before their "
        "message has begun share it; one whose bit software clears before has none.",
        (
            *address_pair("address", 0x00, doc, address_bits, word, locked_by=locked),
            register(
                "data",
                0x08,
                "The word that is written.",
                rw("value", 0, "The word.", REGISTER_BITS, in_memory=True),
                locked_by=locked,
            ),
            register("control", 0x0C, "Messages.", rw("enable", 0, "There are any."), locked_by=locked),
            register(
                "status",
                0x10,
                "State of the messages.",
                ro("pending", 0, "One is to be written, or its write is not answered yet."),
                ro(
                    "locked",
                    1,
                    "That of `host_window.lock`: address, data and control ignore writes until the hardware is reset.",
                ),
                w1c(
                    "failed", 8, "One was answered with an error. Its event is in `irq_status` all the same."
                ),
            ),
        ),
        (("offload_message", 0x580), ("prefetch_message", 0x5A0)),
        survives_soft_reset=True,
    )


#: Cycles of a limit's period after a reset.
LIMIT_PERIOD = 1024
_UNIT = 1 << UNIT_LOG2


def shares_block(pairs: int) -> Block:
    """The block of an engine with so many ``pairs``."""
    return Block(
        "shares",
        "How queue pairs share the data path of a direction: a register for each pair, in the first one's page alone. "
        f"What a descriptor moves counts in units of {_UNIT} raw bytes, at least one, whatever becomes of it.",
        (
            register(
                "share",
                0x00,
                "Which pair goes next: of those that have a descriptor the one of the highest level, and within a level as "
                "the weights say.",
                rw(
                    "weight",
                    0,
                    f"A turn is this times {_UNIT << TURN_LOG2} bytes, 0 is taken as 1; what is moved over it counts "
                    "against the next turns.",
                    WEIGHT_BITS,
                    reset=1,
                ),
                rw(
                    "priority",
                    WEIGHT_BITS,
                    "The level; while one of a higher level can go, none of this does.",
                    LEVEL_BITS,
                ),
                count=pairs,
            ),
            register(
                "limit",
                0x20,
                "The most that a pair moves.",
                rw("units", 0, "Units in each `period`, in the mean; 0 is no limit.", LIMIT_BITS),
                count=pairs,
            ),
            register(
                "period",
                0x40,
                "The period of all limits of this direction.",
                rw("cycles", 0, "Clock cycles; 0 is taken as 1.", PERIOD_BITS, reset=LIMIT_PERIOD),
            ),
        ),
        (("offload_shares", 0x600), ("prefetch_shares", 0x680)),
    )


#: Windows begin and end on pages of 4 KiB.
_PAGE_BITS = 12


def window_block(port: str, address_bits: int, base: int, *, opened: bool) -> Block:
    """The block of the port called ``port``, at the address ``base``; a reset of the hardware leaves it ``opened``, to all
    addresses, or closed."""
    page_bits = min(address_bits, REGISTER_BITS) - _PAGE_BITS
    high_bits = max(address_bits - REGISTER_BITS, 0)
    return Block(
        f"{port}_window",
        f"The addresses that the engine may touch on the {port} port: after a reset of the hardware "
        f"{'all of them, until these registers say less' if opened else 'none, until these registers say which'}. "
        "A descriptor, a ring or a completion that reaches outside is refused before its first transaction.",
        (
            *address_pair(
                "base",
                0x00,
                "The lowest address that may be touched, a multiple of 4 KiB.",
                address_bits,
                rw(
                    "page",
                    _PAGE_BITS,
                    "The address without its 12 low bits, which are 0.",
                    page_bits,
                    reset=0 if opened else (1 << page_bits) - 1,
                    in_memory=True,
                ),
                high_reset=0 if opened else (1 << high_bits) - 1,
                locked_by="lock.locked",
            ),
            *address_pair(
                "limit",
                0x08,
                "The highest address that may be touched, the last byte of 4 KiB. Below the base: nothing may be.",
                address_bits,
                constant("ones", 0, _PAGE_BITS, (1 << _PAGE_BITS) - 1, "Always ones."),
                rw(
                    "page",
                    _PAGE_BITS,
                    "The address without its 12 low bits.",
                    page_bits,
                    reset=(1 << page_bits) - 1 if opened else 0,
                    in_memory=True,
                ),
                high_reset=(1 << high_bits) - 1 if opened else 0,
                locked_by="lock.locked",
            ),
            register(
                "lock",
                0x10,
                "Freezes the window until the hardware is reset.",
                lock("locked", 0, "Base and limit ignore writes."),
            ),
        ),
        ((f"{port}_window", base),),
        survives_soft_reset=True,
    )


def push_block(options: RecordOptions) -> Block:
    """The block of an engine with ``options``."""
    return Block(
        "push",
        "One descriptor given through registers instead of a ring: fill it in, then submit it to a channel. "
        "The fields lie as in a descriptor in memory; the reserved ones have no registers.",
        (
            *record_registers(
                descriptor_fields(options), 0x00, "flags", Access.RW, locked_by="status.pending"
            ),
            *_SUBMIT,
        ),
        (("push", 0x180),),
    )


def push_words(
    options: RecordOptions, descriptor: Mapping[str, int], extension: Mapping[str, int] | None = None
) -> dict[str, int]:
    """What to write into which register before `push.submit`, for a descriptor and the extension of one with a shape."""
    parts = [
        (f"push.{part.register}", part, descriptor)
        for part in record_parts(descriptor_fields(options), "flags")
    ]
    if extension is not None:
        parts += [(f"shape.{name}", part, extension) for name, part in shape_parts()]
    words: dict[str, int] = {}
    for name, part, values in parts:
        words[name] = words.get(name, 0) | _bits(part, values) << part.lsb
    return words


def _bits(part: RecordPart, values: Mapping[str, int]) -> int:
    return values[part.record.name] >> part.start & (1 << part.bits) - 1


_SUBMIT = (
    register(
        "submit",
        0x40,
        "Hands the descriptor over.",
        pulse("offload", 0, "To the offload channel."),
        pulse("prefetch", 1, "To the prefetch channel."),
        locked_by="status.pending",
    ),
    register(
        "status",
        0x44,
        "Whether the descriptor has been taken.",
        ro(
            "pending",
            0,
            "A channel has not yet taken it; until then all registers of this block ignore writes.",
        ),
    ),
)
