"""The registers that an option adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import (
    BANK_LOG2,
    COUNTERS,
    LEVEL_BITS,
    LIMIT_BITS,
    MEMORY_CODES,
    MOST_PAIRS,
    PERIOD_BITS,
    PROTECTIONS,
    SIDEBAND_POSITIONS,
    SIDEBAND_TARGETS,
    SIDEBAND_USER_BITS,
    TURN_LOG2,
    UNIT_LOG2,
    WEIGHT_BITS,
)
from cdma.hdl.spec.records import SHAPE_RECORD, RecordOptions, descriptor_fields, only_if
from cdma.hdl.spec.shape import MAX_DIMENSIONS

from .declare import (
    DENIED_BITS,
    RecordPart,
    address_pair,
    numbered,
    record_parts,
    record_registers,
    registers,
)
from .description import REGISTER_BITS, REGISTER_BYTES, Access, Block, Register

#: Bits of the numbers of words that were wrong.
_FLIPS_BITS = 16


def guarded(config: EngineConfig) -> bool:
    """Whether an engine has any of the guards in the register ``guards``."""
    protected = config.register_protection != PROTECTIONS[0]
    return protected or config.coded_memories or config.records.owner_bits > 0


def guard_registers(config: EngineConfig, *, every: bool) -> tuple[Register, ...]:
    """The registers of the guards that the engine has, or with ``every`` of all."""
    found = registers(f"""
guards 0x2C | What else is checked; there where `host_port.guarded` is 1.
  constant register_protection 0 2 reset={PROTECTIONS.index(config.register_protection)} | What an access to registers must
      be: {numbered(PROTECTIONS)}. Any other is answered SLVERR and does nothing.
  constant memories_protect 2 2 reset={MEMORY_CODES.index(config.memories_protect)} | The checks of words in memories:
      {numbered(MEMORY_CODES)}.
  {only_if(config.records.owner_bits or every)}constant stream_id_bits 4 4 reset={config.stream_id_bits} | Bits of the
      stream ID of a descriptor.
  {only_if(config.records.owner_bits or every)}constant substream_id_bits 8 5 reset={config.substream_id_bits} | Bits of its
      substream ID.
denied 0x30 | Accesses without the right, since the last `command.clear_denied` or reset of the hardware; a soft reset
      leaves them. The first one is kept.
  ro address 0 12 | Its address.
  ro prot 12 3 | Its AxPROT.
  ro write 15 | It was a write.
  ro count 16 {DENIED_BITS} | How many there were; stays at the largest number. While 0, the other fields mean nothing.
flips 0x34 | Words in memories that were found wrong, since the last `command.clear_flips` or reset of the hardware; a soft
      reset leaves them. A word counts once for as long as a reader has it. Each number stays at its largest.
  ro corrected 0 {_FLIPS_BITS} | One bit was wrong and was put right.
  ro lost 16 {_FLIPS_BITS} | More were wrong, or one that cannot be put right; `MEMORY` says it of descriptors.
""")
    protected = config.register_protection != PROTECTIONS[0]
    has = (guarded(config), protected, config.coded_memories)
    return tuple(each for each, built in zip(found, has, strict=True) if built or every)


def guard_commands(config: EngineConfig, *, every: bool) -> str:
    """The lines of the fields of `command` for these."""
    return f"""\
  {only_if(config.register_protection != PROTECTIONS[0] or every)}pulse clear_denied 2 | Sets `denied` to 0, and the next
      refused access is recorded.
  {only_if(config.coded_memories or every)}pulse clear_flips 3 | Sets `flips` to 0."""


COUNTERS_BLOCK = Block(
    "counters",
    "What a channel has done, 64 bits each. Reading a low half latches its high half: "
    "read low, then high, from one thread at a time, and the 64 bits belong together.",
    registers(
        "\n".join(
            f"{name}_low {8 * index:#x} ro 32 | {doc} Bits 31 to 0; reading latches the rest.\n"
            f"{name}_high {8 * index + 4:#x} ro 32 | {doc} Bits 63 to 32, as of the last read of a low half."
            for index, (name, doc) in enumerate(COUNTERS)
        )
    ),
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


SHAPE_BLOCK = Block(
    "shape",
    "The shape of the descriptor in the block `push`, where that has `shaped`. Write it before `push.submit`, and not "
    "while `push.status.pending` is 1. The fields lie as in the extension in memory.",
    tuple(
        replace(register, name=_NAMES.get(register.offset // REGISTER_BYTES, register.name))
        for register in record_registers(SHAPE_RECORD, 0, _SHARED, Access.RW)
    ),
    (("shape", 0x500),),
)


#: The offset of the first of the sideband's registers.
_SIDEBAND = 0x94
_TARGETS = ("data in device memory", "data in host memory", "the channel's rings")
_SIDEBAND_DOCS = {
    "cache": "AxCACHE.",
    "prot": "AxPROT.",
    "qos": "AxQOS.",
    "user": "AxUSER, of as many bits as `engine.host_port.user_bits`.",
}


def sideband_registers(config: EngineConfig, *, every: bool) -> tuple[Register, ...]:
    """A register for each target of a channel, if the engine has them or with ``every``."""
    if not (config.sideband_registers or every):
        return ()
    lines = []
    for index, (target, of_target) in enumerate(zip(SIDEBAND_TARGETS, _TARGETS, strict=True)):
        values = config.sideband.values(target)
        if every and "user" not in values:
            values["user"] = (SIDEBAND_USER_BITS, 0)
        lines.append(
            f"{target}_sideband {_SIDEBAND + REGISTER_BYTES * index:#x} | What addresses of {of_target} say beside. "
            "What is written while `status.busy` is 1 waits until it is 0, so that nothing changes under way."
        )
        lines += [
            f"rw {name} {SIDEBAND_POSITIONS[name]} {bits} reset={value} | {_SIDEBAND_DOCS[name]}"
            for name, (bits, value) in values.items()
        ]
    return registers("\n".join(lines))


_OWNER_DOCS = {
    "substream": "The substream ID.",
    "stream": "The stream ID.",
    "substream_valid": "There is a substream ID.",
}


def owner_block(fields: Mapping[str, tuple[int, int]]) -> Block:
    """The block of an engine whose owners have these fields; see :func:`~cdma.hdl.spec.options.owner_fields`."""
    zeros, ones = (
        "\n".join(
            f"rw {name} {lsb} {bits} reset={fill * ((1 << bits) - 1)} | {_OWNER_DOCS[name]}"
            for name, (lsb, bits) in fields.items()
        )
        for fill in (0, 1)
    )
    return Block(
        "owner",
        "Whose a channel's transfers may be: after a reset of the hardware that of stream 0, without a substream, alone. "
        "The fields lie as in `owner` of a descriptor.",
        registers(f"""
value 0x00 locked_by=lock.locked | What the owner of a descriptor must be in the bits of `mask`; any other is refused as
      `OWNER`.
{zeros}
mask 0x04 locked_by=lock.locked | The bits that are compared.
{ones}
ring 0x08 locked_by=lock.locked | Whose the channel's rings and lists of pages are. What is written while `status.busy` is 1
      waits until it is 0.
{zeros}
lock 0x0C | Freezes all of these until the hardware is reset.
  lock locked 0 | The others ignore writes.
"""),
        (("offload_owner", 0x140), ("prefetch_owner", 0x160)),
        survives_soft_reset=True,
    )


#: A message is a word.
_WORD_BITS = 2


def message_block(config: EngineConfig) -> Block:
    """The block of the engine that ``config`` describes."""
    locked, address_bits = "status.locked", config.host_address_bits
    bits = min(address_bits, REGISTER_BITS) - _WORD_BITS
    word = f"rw word {_WORD_BITS} {bits} memory | The address without its 2 low bits, which are 0."
    doc = "Where messages are written. No window holds for it."
    return Block(
        "message",
        "A channel's interrupt as a write of a word on the host port: one for each event that sets a bit of `irq_status` "
        "which `irq_enable` names, and one where software enables a bit that is set. Events that come before their "
        "message has begun share it; one whose bit software clears before has none.",
        (
            *address_pair("address", 0x00, doc, address_bits, word, locked_by=locked),
            *registers(f"""
data 0x08 locked_by={locked} | The word that is written.
  rw value 0 {REGISTER_BITS} memory | The word.
control 0x0C locked_by={locked} | Messages.
  rw enable 0 | There are any.
status 0x10 | State of the messages.
  ro pending 0 | One is to be written, or its write is not answered yet.
  ro locked 1 | That of `host_window.lock`: address, data and control ignore writes until the hardware is reset.
  w1c failed 8 | One was answered with an error. Its event is in `irq_status` all the same.
"""),
        ),
        (("offload_message", 0x580), ("prefetch_message", 0x5A0)),
        survives_soft_reset=True,
    )


#: Cycles of a limit's period after a reset.
LIMIT_PERIOD = 1024
_UNIT = 1 << UNIT_LOG2


#: The register of an engine with more pairs than have registers of their shares at once.
_BANK = registers(f"""
bank 0x44 rw {(MOST_PAIRS - 1).bit_length() - BANK_LOG2} | Of more than {1 << BANK_LOG2} pairs: `share` and `limit`
      are those of the pairs from {1 << BANK_LOG2} times this on.
""")


def shares_block(pairs: int) -> Block:
    """The block of an engine with so many ``pairs``."""
    count = min(pairs, 1 << BANK_LOG2)
    return Block(
        "shares",
        "How queue pairs share the data path of a direction: a register for each pair, in the first one's page alone. "
        f"What a descriptor moves counts in units of {_UNIT} raw bytes, at least one, whatever becomes of it.",
        registers(f"""
share 0x00 count={count} | Which pair goes next: of those that have a descriptor the one of the highest level, and within a
      level as the weights say.
  rw weight 0 {WEIGHT_BITS} reset=1 memory | A turn is this times {_UNIT << TURN_LOG2} bytes, 0 is taken as 1; what is moved
      over it counts against the next turns.
  rw priority {WEIGHT_BITS} {LEVEL_BITS} memory | The level; while one of a higher level can go, none of this does.
limit 0x20 count={count} | The most that a pair moves.
  rw units 0 {LIMIT_BITS} memory | Units in each `period`, in the mean; 0 is no limit.
period 0x40 | The period of all limits of this direction.
  rw cycles 0 {PERIOD_BITS} reset={LIMIT_PERIOD} | Clock cycles; 0 is taken as 1.
""")
        + (_BANK if pairs > count else ()),
        (("offload_shares", 0x600), ("prefetch_shares", 0x680)),
    )


#: Windows begin and end on pages of 4 KiB.
_PAGE_BITS = 12


def window_block(port: str, address_bits: int, base: int, *, opened: bool) -> Block:
    """The block of the port called ``port``, at the address ``base``; a reset of the hardware leaves it ``opened``, to all
    addresses, or closed."""
    page_bits = min(address_bits, REGISTER_BITS) - _PAGE_BITS
    low_ones, high_ones = (1 << page_bits) - 1, (1 << max(address_bits - REGISTER_BITS, 0)) - 1
    page, locked = f"rw page {_PAGE_BITS} {page_bits} memory reset", "lock.locked"
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
                f"{page}={0 if opened else low_ones} | The address without its 12 low bits, which are 0.",
                high_reset=0 if opened else high_ones,
                locked_by=locked,
            ),
            *address_pair(
                "limit",
                0x08,
                "The highest address that may be touched, the last byte of 4 KiB. Below the base: nothing may be.",
                address_bits,
                f"constant ones 0 {_PAGE_BITS} reset={(1 << _PAGE_BITS) - 1} | Always ones.\n"
                f"{page}={low_ones if opened else 0} | The address without its 12 low bits.",
                high_reset=high_ones if opened else 0,
                locked_by=locked,
            ),
            *registers("""
lock 0x10 | Freezes the window until the hardware is reset.
  lock locked 0 | Base and limit ignore writes.
"""),
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
        bits = values[part.record.name] >> part.start & (1 << part.bits) - 1
        words[name] = words.get(name, 0) | bits << part.lsb
    return words


_SUBMIT = registers("""
submit 0x40 locked_by=status.pending | Hands the descriptor over.
  pulse offload 0 | To the offload channel.
  pulse prefetch 1 | To the prefetch channel.
status 0x44 | Whether the descriptor has been taken.
  ro pending 0 | A channel has not yet taken it; until then all registers of this block ignore writes.
""")
