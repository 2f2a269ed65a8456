"""The register block ``channel``, once for offload and once for prefetch."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RecordOptions, Status, completion_fields

from .declare import address_pair, number, pulse, record_registers, register, ro, rw, w1c
from .description import REGISTER_BITS, Access, Block, Field, Register
from .optional import sideband_registers

#: Rings are multiples of 64 bytes.
_LINE_BITS = 6


def channel_block(config: EngineConfig, options: RecordOptions, *, every: bool) -> Block:
    """The block of the engine that ``config`` describes, with the registers of ``options``; with ``every`` also those that
    only other engines have."""
    return Block(
        "channel",
        "One direction: offload reads the dev port, compresses and writes the host port; "
        "prefetch reads the host port, decompresses and writes the dev port. "
        "Its rings are in host memory.",
        (
            *_CONTROLS,
            *_INTERRUPT,
            *_rings(config),
            *_ERROR,
            *([_table(config)] if config.codec.table_size else []),
            _COUNTER_HOLD,
            *sideband_registers(config, every=every),
            *record_registers(completion_fields(options), 0xC0, "result", Access.RO, prefix="completion_"),
        ),
        (("offload", 0x200), ("prefetch", 0x300)),
    )


_CONTROLS = (
    register(
        "control",
        0x00,
        "What the channel may do.",
        rw("enable", 0, "Start descriptors. While 0, those that have started still finish."),
        rw("halt_on_error", 1, "After an error start none until `command.resume`."),
        rw(
            "ring_enable",
            2,
            "Fetch descriptors from the ring. While 0, the ring's head is 0, and what was fetched and has not started is "
            "forgotten; set the tail to 0 before this to 1 again.",
        ),
        rw(
            "completion_ring_enable",
            3,
            "Write completions to their ring. While 0, completions wait in `completion_…` to be read and popped. "
            "Cleared while some are pending: those in flight still go to the ring, then its head is 0; "
            "`status.busy` stays 1 until the others are popped.",
        ),
    ),
    register(
        "command",
        0x04,
        "Acts on the channel.",
        pulse(
            "abort_now",
            0,
            "Halts the channel, and ends every descriptor that has started with the status `aborted`; open transactions "
            "finish legally. Descriptors that have not started wait for `resume`. `status.aborting` says when it is done.",
        ),
        pulse("resume", 1, "Goes on after a halt."),
        pulse(
            "clear_error",
            2,
            "Sets `error.valid` to 0, and the next error is recorded. The other fields of the error stay as they are "
            "until then.",
        ),
        pulse(
            "pop_completion",
            3,
            "Drops the completion in `completion_…`; the next one follows when there is one.",
        ),
    ),
    register(
        "status",
        0x08,
        "State of the channel.",
        ro(
            "busy",
            0,
            "A descriptor has started, waits in its ring or `push`, or its completion is not in memory or popped yet.",
        ),
        ro(
            "halted",
            1,
            "No descriptor starts until `command.resume`: after an abort, a watchdog, or an error with "
            "`control.halt_on_error`.",
        ),
        ro(
            "aborting",
            2,
            "An abort or a watchdog is not done: open transactions are being finished, or a completion from before its end "
            "is not in memory or popped yet.",
        ),
        ro("stuck", 3, "The watchdog has fired, and a port has not answered since."),
        ro("completion_waiting", 8, "`completion_…` holds a completion. It means nothing while this is 0."),
    ),
)

_INTERRUPT = (
    register(
        "irq_status",
        0x0C,
        "Why there is an interrupt. Clear it first, then look for completions: none is missed so.",
        w1c("completion", 0, "Enough completions, or one long enough ago."),
        w1c("error", 1, "An error."),
    ),
    register(
        "irq_enable",
        0x10,
        "Which of them assert the interrupt.",
        rw("completion", 0, "Completions do."),
        rw("error", 1, "Errors do."),
    ),
    number("coalesce_count", 0x14, Access.RW, "Completions that want it per interrupt; 0 is taken as 1.", 8),
    number(
        "coalesce_cycles",
        0x18,
        Access.RW,
        "Clock cycles after the first uncounted completion that raise the interrupt anyway, "
        "up to 16 late; 0 is never.",
        in_memory=True,
    ),
)


def _rings(config: EngineConfig) -> tuple[Register, ...]:
    """Size, bases, heads and tails of both rings."""
    return (
        register(
            "ring_size",
            0x1C,
            "Size of both rings; change it only while both are disabled.",
            rw(
                "log2",
                0,
                "log2 of the entries, at most `engine.limits.ring_log2`.",
                4,
                reset=config.ring_entries.bit_length() - 1,
            ),
        ),
        *address_pair(
            "ring_base",
            0x20,
            "Where the descriptor ring begins; 64-byte aligned.",
            config.host_address_bits,
            _line(config),
        ),
        number(
            "ring_head",
            0x28,
            Access.RO,
            "Descriptors fetched. Runs on past the ring's size and wraps at twice the largest ring.",
            config.index_bits,
        ),
        number(
            "ring_tail",
            0x2C,
            Access.RW,
            "The doorbell: descriptors written by software, counted like the head.",
            config.index_bits,
        ),
        *address_pair(
            "completion_base",
            0x30,
            "Where the completion ring begins; 64-byte aligned.",
            config.host_address_bits,
            _line(config),
        ),
        number(
            "completion_head",
            0x38,
            Access.RO,
            "Completions whose write has been answered, counted like the ring's. "
            "One whose write failed counts, too: see `error`; its slot may not show it.",
            config.index_bits,
        ),
        number(
            "completion_tail",
            0x3C,
            Access.RW,
            "Completions that software has consumed; the engine waits rather than overwrite the others.",
            config.index_bits,
        ),
    )


def _line(config: EngineConfig) -> Field:
    return rw(
        "line",
        _LINE_BITS,
        "The address without its 6 low bits, which are 0.",
        min(config.host_address_bits, REGISTER_BITS) - _LINE_BITS,
        in_memory=True,
    )


_ERROR = (
    register(
        "error",
        0x40,
        "The first error since the last `command.clear_error`. Its status, tag and address mean nothing while `valid` is 0.",
        ro(
            "status",
            0,
            "Its cause.",
            8,
            choices=tuple((status.name.lower(), int(status)) for status in Status),
            in_memory=True,
        ),
        ro("valid", 31, "There was one."),
    ),
    number(
        "error_tag",
        0x44,
        Access.RO,
        "Tag of the descriptor that failed; 0 if it could not be fetched, or if the host stays silent under its completion.",
        in_memory=True,
    ),
    number(
        "error_address_low",
        0x48,
        Access.RO,
        "The address that belongs to the cause. Bits 31 to 0.",
        in_memory=True,
    ),
    number(
        "error_address_high",
        0x4C,
        Access.RO,
        "The address that belongs to the cause. Bits 63 to 32.",
        in_memory=True,
    ),
)


def _table(config: EngineConfig) -> Register:
    """The table of frequent values, for a codec that has one; there is address space for the 15 entries of 4-bit codes."""
    return register(
        "table",
        0x50,
        "The frequent values that mode fvc uses, lowest code first: `engine.stream_format.table_size` registers, "
        "at most 15, each with a word or the value of a field in its low bits. Change them only while the channel is idle. "
        "After a reset, `command.soft_reset` too, each is the first of the format's values: "
        "write them before a transfer of mode fvc.",
        rw(
            "entry", 0, "A word, or the value of a field.", config.format.entry_bits, reset=config.first_entry
        ),
        count=config.codec.table_size,
    )


_COUNTER_HOLD = register(
    "counter_hold",
    0x90,
    "All counters of the channel at one moment, up to 32 cycles apart; "
    "the numbers of a completion are in all of them or in none.",
    rw("hold", 0, "While `held` is 1, the counters read as when it became so, and go on counting."),
    ro("held", 1, "Follows `hold` within 100 cycles."),
)
