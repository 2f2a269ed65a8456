"""The engine's register map: what each register is for. Plain data, without Amaranth.

Offsets, field positions and access are the same for every engine, so that one driver serves all of them. What
differs is what the capability registers read, how many entries the table has, and how many bits of an address
or an index are there; a driver reads that at run time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from cdma.hdl.spec.counters import COUNTERS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, RecordField, Status

from .description import REGISTER_BITS, REGISTER_BYTES, Access, Block, Field, Register, RegisterMap

__all__ = ["IDENT", "VERSION", "RecordPart", "record_parts", "register_map"]

#: What the first register reads: ``cDMA`` in the order of its bytes.
IDENT = int.from_bytes(b"cDMA", "little")

#: Major and minor version of the map. A driver works with every minor version of the major one that it knows.
VERSION = (1, 1)

_ADDRESS_BITS = 12

_DOC = (
    "Registers are 32 bits wide and little-endian, at multiples of 4. An address without a register "
    "answers SLVERR: a "
    "read gives 0, a write does nothing. Writes to read-only fields and to locked registers do nothing "
    "and answer "
    "OKAY. Byte strobes are obeyed. Bits that no field names read as 0; write them as 0. A write has "
    "taken effect when "
    "its response is there. Offsets and field positions are the same for every engine; the capability "
    "registers say "
    "what this one has, and their reset values below are those of the configuration this text was made for."
)


def register_map(config: EngineConfig) -> RegisterMap:
    """The map of the engine that ``config`` describes."""
    return RegisterMap(
        "cdma",
        _DOC,
        (
            _engine_block(config),
            _window_block("dev", config.dev_address_bits, 0x100),
            _window_block("host", config.host_address_bits, 0x120),
            _push_block(),
            _channel_block(config),
            _counters_block(),
        ),
        _ADDRESS_BITS,
    )


def _constant(name: str, lsb: int, bits: int, doc: str, value: int) -> Field:
    return Field(name, lsb, bits, Access.CONSTANT, doc, value)


def _flag(name: str, lsb: int, access: Access, doc: str) -> Field:
    return Field(name, lsb, 1, access, doc)


def _whole(
    name: str, offset: int, access: Access, doc: str, bits: int = REGISTER_BITS, *, in_memory: bool = False
) -> Register:
    """A register that is one number."""
    return Register(name, offset, doc, (Field("value", 0, bits, access, doc, in_memory=in_memory),))


def _pair(
    name: str,
    offset: int,
    doc: str,
    low: tuple[Field, ...],
    high_bits: int,
    reset: int = 0,
    *,
    in_memory: bool = False,
) -> list[Register]:
    """The low and the high half of an address of ``32 + high_bits`` bits, of which ``low`` are the fields
    below."""
    if high_bits > 0:
        high = Field("value", 0, high_bits, Access.RW, f"{doc} Bits above 31.", reset, in_memory=in_memory)
    else:
        high = _constant("value", 0, REGISTER_BITS, "This port has no address bits above 31.", 0)
    return [
        Register(f"{name}_low", offset, f"{doc} Bits 31 to 0.", low),
        Register(f"{name}_high", offset + REGISTER_BYTES, f"{doc} Bits 63 to 32.", (high,)),
    ]


def _engine_block(config: EngineConfig) -> Block:
    def port(name: str, offset: int, data_bits: int, address_bits: int) -> Register:
        return Register(
            f"{name}_port",
            offset,
            f"Geometry of the {name} port.",
            (
                _constant("data_bits", 0, 11, "Bits of its data.", data_bits),
                _constant("address_bits", 16, 7, "Bits of its addresses.", address_bits),
                _constant(
                    "align_log2",
                    24,
                    4,
                    "Source and destination on this port are multiples of 2**this bytes.",
                    config.align(data_bits).bit_length() - 1,
                ),
            ),
        )

    form = config.format
    return Block(
        "engine",
        "What this engine is, and what concerns both channels.",
        (
            Register(
                "ident",
                0x00,
                "The bytes `cDMA`; anything else is not this engine.",
                (_constant("value", 0, 32, "Fixed.", IDENT),),
            ),
            Register(
                "version",
                0x04,
                "Version of this register map. A higher minor version only adds.",
                (
                    _constant("minor", 0, 16, "Minor version.", VERSION[1]),
                    _constant("major", 16, 16, "Major version.", VERSION[0]),
                ),
            ),
            Register(
                "stream_format",
                0x08,
                "Format of the compressed streams, and lanes of the codec.",
                (
                    _constant("word_bits", 0, 8, "Bits of a word.", form.word_bits),
                    _constant("window", 8, 8, "Words that share one header.", form.window),
                    _constant("code_bits", 16, 4, "Bits of a code.", form.code_bits),
                    _constant("table_size", 20, 4, "Entries of a channel's table.", config.codec.table_size),
                    _constant("lanes", 24, 8, "Words of one beat of the codec.", config.lanes),
                ),
            ),
            port("dev", 0x0C, config.dev_data_bits, config.dev_address_bits),
            port("host", 0x10, config.host_data_bits, config.host_address_bits),
            Register(
                "bursts",
                0x14,
                "How the ports issue bursts.",
                (
                    _constant("beats", 0, 9, "Beats of the longest burst.", config.burst_beats),
                    _constant("outstanding", 16, 9, "Bursts under way at once.", config.outstanding),
                ),
            ),
            Register(
                "limits",
                0x18,
                "Limits of rings and counters.",
                (
                    _constant(
                        "ring_log2",
                        0,
                        4,
                        "log2 of the entries of the largest ring.",
                        config.ring_entries.bit_length() - 1,
                    ),
                    _constant(
                        "record_bytes", 8, 8, "Bytes of a descriptor and of a completion.", RECORD_BYTES
                    ),
                    _constant("counters", 16, 8, "Counters of a channel.", len(COUNTERS)),
                ),
            ),
            Register(
                "command",
                0x20,
                "Acts on the whole engine.",
                (
                    _flag(
                        "soft_reset",
                        0,
                        Access.PULSE,
                        "Aborts both channels, then returns everything but windows and locks to its "
                        "reset value. "
                        "`status.resetting` says when it is done; write nothing before.",
                    ),
                    _flag(
                        "clear_counters",
                        1,
                        Access.PULSE,
                        "Sets all counters of both channels to 0, but not what is held.",
                    ),
                ),
            ),
            Register(
                "status",
                0x24,
                "State of the whole engine.",
                (
                    _flag("resetting", 0, Access.RO, "A soft reset is under way."),
                    _flag("offload_irq", 8, Access.RO, "The offload channel asserts the interrupt."),
                    _flag("prefetch_irq", 9, Access.RO, "The prefetch channel asserts the interrupt."),
                ),
            ),
            _whole(
                "watchdog",
                0x28,
                Access.RW,
                "Clock cycles that a port may leave an open transaction without an answer; 0 is for ever.",
            ),
        ),
        (("engine", 0x000),),
    )


def _window_block(port: str, address_bits: int, base: int) -> Block:
    low_bits = min(address_bits, REGISTER_BITS) - 12
    high_bits = address_bits - REGISTER_BITS
    registers = [
        *_pair(
            "base",
            0x00,
            "The lowest address that may be touched, a multiple of 4 KiB.",
            (
                Field(
                    "page",
                    12,
                    low_bits,
                    Access.RW,
                    "The address without its 12 low bits, which are 0.",
                    in_memory=True,
                ),
            ),
            high_bits,
            in_memory=True,
        ),
        *_pair(
            "limit",
            0x08,
            "The highest address that may be touched, the last byte of 4 KiB. Below the base: nothing "
            "may be.",
            (
                _constant("ones", 0, 12, "Always ones.", 0xFFF),
                Field(
                    "page",
                    12,
                    low_bits,
                    Access.RW,
                    "The address without its 12 low bits.",
                    (1 << low_bits) - 1,
                    in_memory=True,
                ),
            ),
            high_bits,
            (1 << max(high_bits, 0)) - 1,
            in_memory=True,
        ),
    ]
    lock = Register(
        "lock",
        0x10,
        "Freezes the window until the hardware is reset.",
        (_flag("locked", 0, Access.LOCK, "Base and limit ignore writes."),),
    )
    locked = [
        Register(item.name, item.offset, item.doc, item.fields, locked_by="lock.locked") for item in registers
    ]
    return Block(
        f"{port}_window",
        f"The addresses that the engine may touch on the {port} port: all of them, until these "
        "registers say less. A "
        "descriptor, a ring or a completion that reaches outside is refused before its first transaction.",
        (*locked, lock),
        ((f"{port}_window", base),),
        survives_soft_reset=True,
    )


@dataclass(frozen=True)
class RecordPart:
    """Where bits of a descriptor or completion lie in registers that have the record's layout.

    ``start``
        The lowest bit of ``record`` that is here; ``lsb`` and ``bits`` say where in the register.
    """

    record: RecordField
    start: int
    word: int
    lsb: int
    bits: int
    register: str
    field: str


def record_parts(record: tuple[RecordField, ...], shared: str) -> list[RecordPart]:
    """All of a record but its reserved fields, cut into registers; ``shared`` names the one with several
    fields."""
    parts = []
    first = 0
    for field in record:
        end = first + field.bits
        for word in () if field.reserved else range(first // REGISTER_BITS, -(-end // REGISTER_BITS)):
            low = max(first, word * REGISTER_BITS)
            bits = min(end, (word + 1) * REGISTER_BITS) - low
            if bits < REGISTER_BITS:
                register, name = shared, field.name
            else:
                half = "" if field.bits == REGISTER_BITS else "_high" if low > first else "_low"
                register, name = field.name + half, "value"
            parts.append(RecordPart(field, low - first, word, low % REGISTER_BITS, bits, register, name))
        first = end
    return parts


def _record_registers(
    record: tuple[RecordField, ...], base: int, prefix: str, shared: str, access: Access, locked_by: str = ""
) -> list[Register]:
    """Registers with the layout of a record, kept in the register file's memory."""
    registers = []
    for word, group in groupby(record_parts(record, shared), lambda part: part.word):
        parts = list(group)
        fields = tuple(
            Field(part.field, part.lsb, part.bits, access, part.record.doc, in_memory=True) for part in parts
        )
        doc = parts[0].record.doc if len(parts) == 1 else f"{', '.join(field.name for field in fields)}."
        name, offset = f"{prefix}{parts[0].register}", base + word * REGISTER_BYTES
        registers.append(Register(name, offset, doc, fields, locked_by=locked_by))
    return registers


def _push_block() -> Block:
    return Block(
        "push",
        "One descriptor given through registers instead of a ring: fill it in, then submit it to a "
        "channel. The fields "
        "lie as in a descriptor in memory; the reserved ones have no registers.",
        (
            *_record_registers(DESCRIPTOR, 0x00, "", "flags", Access.RW, "status.pending"),
            Register(
                "submit",
                0x40,
                "Hands the descriptor over.",
                (
                    _flag("offload", 0, Access.PULSE, "To the offload channel."),
                    _flag("prefetch", 1, Access.PULSE, "To the prefetch channel."),
                ),
                locked_by="status.pending",
            ),
            Register(
                "status",
                0x44,
                "Whether the descriptor has been taken.",
                (
                    _flag(
                        "pending",
                        0,
                        Access.RO,
                        "A channel has not yet taken it; until then all registers of this block ignore "
                        "writes.",
                    ),
                ),
            ),
        ),
        (("push", 0x180),),
    )


def _channel_block(config: EngineConfig) -> Block:
    index = config.index_bits
    ring_log2 = config.ring_entries.bit_length() - 1
    base_low = (
        Field(
            "line",
            6,
            min(config.host_address_bits, REGISTER_BITS) - 6,
            Access.RW,
            "The address without its 6 low bits, which are 0.",
            in_memory=True,
        ),
    )
    high_bits = config.host_address_bits - REGISTER_BITS
    return Block(
        "channel",
        "One direction: offload reads the dev port, compresses and writes the host port; prefetch "
        "reads the host "
        "port, decompresses and writes the dev port. Its rings are in host memory.",
        (
            Register(
                "control",
                0x00,
                "What the channel may do.",
                (
                    _flag(
                        "enable", 0, Access.RW, "Start descriptors. While 0, those under way still finish."
                    ),
                    _flag("halt_on_error", 1, Access.RW, "After an error start none until `command.resume`."),
                    _flag(
                        "ring_enable",
                        2,
                        Access.RW,
                        "Fetch descriptors from the ring. While 0, the ring's head is 0; set the tail "
                        "to 0 first.",
                    ),
                    _flag(
                        "completion_ring_enable",
                        3,
                        Access.RW,
                        "Write completions to their ring. While 0, its head is 0, and completions wait in "
                        "`completion_…` to be read and popped.",
                    ),
                ),
            ),
            Register(
                "command",
                0x04,
                "Acts on the channel.",
                (
                    _flag(
                        "abort_now",
                        0,
                        Access.PULSE,
                        "Ends every descriptor under way or waiting with the status `aborted`; open "
                        "transactions "
                        "finish legally.",
                    ),
                    _flag("resume", 1, Access.PULSE, "Goes on after a halt."),
                    _flag(
                        "clear_error",
                        2,
                        Access.PULSE,
                        "Empties the error registers for the next first error.",
                    ),
                    _flag("pop_completion", 3, Access.PULSE, "Drops the completion in `completion_…`."),
                ),
            ),
            Register(
                "status",
                0x08,
                "State of the channel.",
                (
                    _flag("busy", 0, Access.RO, "A descriptor is under way, or a ring has one."),
                    _flag("halted", 1, Access.RO, "Stopped after an error, until `command.resume`."),
                    _flag("aborting", 2, Access.RO, "An abort's open transactions are still being finished."),
                    _flag(
                        "stuck", 3, Access.RO, "The watchdog has fired, and a port has not answered since."
                    ),
                    _flag(
                        "completion_waiting", 8, Access.RO, "`completion_…` holds one; only without its ring."
                    ),
                ),
            ),
            Register(
                "irq_status",
                0x0C,
                "Why there is an interrupt. Clear it first, then look for completions: none is missed so.",
                (
                    _flag("completion", 0, Access.W1C, "Enough completions, or one long enough ago."),
                    _flag("error", 1, Access.W1C, "An error."),
                ),
            ),
            Register(
                "irq_enable",
                0x10,
                "Which of them assert the interrupt.",
                (
                    _flag("completion", 0, Access.RW, "Completions do."),
                    _flag("error", 1, Access.RW, "Errors do."),
                ),
            ),
            _whole(
                "coalesce_count",
                0x14,
                Access.RW,
                "Completions that want it per interrupt; 0 is taken as 1.",
                8,
            ),
            _whole(
                "coalesce_cycles",
                0x18,
                Access.RW,
                "Clock cycles after the first uncounted completion that raise the interrupt anyway, up to 16 late; 0 "
                "is never.",
                in_memory=True,
            ),
            Register(
                "ring_size",
                0x1C,
                "Size of both rings; change it only while both are disabled.",
                (
                    Field(
                        "log2",
                        0,
                        4,
                        Access.RW,
                        "log2 of the entries, at most `engine.limits.ring_log2`.",
                        ring_log2,
                    ),
                ),
            ),
            *_pair(
                "ring_base",
                0x20,
                "Where the descriptor ring begins; 64-byte aligned.",
                base_low,
                high_bits,
                in_memory=True,
            ),
            _whole(
                "ring_head",
                0x28,
                Access.RO,
                "Descriptors fetched. Runs on past the ring's size and wraps at twice the largest ring.",
                index,
            ),
            _whole(
                "ring_tail",
                0x2C,
                Access.RW,
                "The doorbell: descriptors written by software, counted like the head.",
                index,
            ),
            *_pair(
                "completion_base",
                0x30,
                "Where the completion ring begins; 64-byte aligned.",
                base_low,
                high_bits,
                in_memory=True,
            ),
            _whole(
                "completion_head",
                0x38,
                Access.RO,
                "Completions that are in memory, counted like the ring's.",
                index,
            ),
            _whole(
                "completion_tail",
                0x3C,
                Access.RW,
                "Completions that software has consumed; the engine waits rather than overwrite the others.",
                index,
            ),
            Register(
                "error",
                0x40,
                "The first error since the last `command.clear_error`.",
                (
                    Field(
                        "status",
                        0,
                        8,
                        Access.RO,
                        "Its cause.",
                        choices=tuple((status.name.lower(), int(status)) for status in Status),
                        in_memory=True,
                    ),
                    _flag("valid", 31, Access.RO, "There was one."),
                ),
            ),
            _whole(
                "error_tag",
                0x44,
                Access.RO,
                "Tag of the descriptor that failed; 0 if it could not be fetched.",
                in_memory=True,
            ),
            _whole(
                "error_address_low",
                0x48,
                Access.RO,
                "The address that belongs to the cause. Bits 31 to 0.",
                in_memory=True,
            ),
            _whole(
                "error_address_high",
                0x4C,
                Access.RO,
                "The address that belongs to the cause. Bits 63 to 32.",
                in_memory=True,
            ),
            Register(
                "table",
                0x50,
                "The frequent values that mode fvc uses, lowest code first. Change them only while the "
                "channel is idle.",
                (Field("entry", 0, config.format.word_bits, Access.RW, "A word.", config.format.values[0]),),
                # There is room for the 15 entries of 4-bit codes.
                count=config.codec.table_size,
            ),
            Register(
                "counter_hold",
                0x90,
                "All counters of the channel at one moment, up to 32 cycles apart; the numbers of a completion are in "
                "all of them or in none.",
                (
                    _flag(
                        "hold",
                        0,
                        Access.RW,
                        "While `held` is 1, the counters read as when it became so, and go on counting.",
                    ),
                    _flag("held", 1, Access.RO, "Follows `hold` within 100 cycles."),
                ),
            ),
            *_record_registers(COMPLETION, 0xC0, "completion_", "result", Access.RO),
        ),
        (("offload", 0x200), ("prefetch", 0x300)),
    )


def _counters_block() -> Block:
    registers = []
    for number, (name, doc) in enumerate(COUNTERS):
        registers.append(
            _whole(f"{name}_low", 8 * number, Access.RO, f"{doc} Bits 31 to 0; reading latches the rest.")
        )
        registers.append(
            _whole(
                f"{name}_high",
                8 * number + 4,
                Access.RO,
                f"{doc} Bits 63 to 32, as of the last read of a low half.",
            )
        )
    return Block(
        "counters",
        "What a channel has done, 64 bits each. Reading a low half latches its high half: read low, "
        "then high, from "
        "one thread at a time, and the 64 bits belong together.",
        tuple(registers),
        (("offload_counters", 0x400), ("prefetch_counters", 0x480)),
        external=True,
    )
