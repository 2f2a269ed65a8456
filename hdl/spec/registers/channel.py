"""The register block ``channel``, once for offload and once for prefetch."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RecordOptions, Status, completion_fields

from .declare import address_pair, record_registers, registers
from .description import REGISTER_BITS, Access, Block, Register
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
            *_rings(config),
            *_ERROR,
            *(_table(config) if config.codec.table_size else ()),
            *_COUNTER_HOLD,
            *sideband_registers(config, every=every),
            *record_registers(completion_fields(options), 0xC0, "result", Access.RO, prefix="completion_"),
        ),
        (("offload", 0x200), ("prefetch", 0x300)),
    )


_CONTROLS = registers("""
control 0x00 | What the channel may do.
  rw enable 0 | Start descriptors. While 0, those that have started still finish.
  rw halt_on_error 1 | After an error start none until `command.resume`.
  rw ring_enable 2 | Fetch descriptors from the ring. While 0, the ring's head is 0, and what was fetched and has not
      started is forgotten; set the tail to 0 before this to 1 again.
  rw completion_ring_enable 3 | Write completions to their ring. While 0, completions wait in `completion_…` to be read
      and popped. Cleared while some are pending: those in flight still go to the ring, then its head is 0; `status.busy`
      stays 1 until the others are popped.
command 0x04 | Acts on the channel.
  pulse abort_now 0 | Halts the channel, and ends every descriptor that has started with the status `aborted`; open
      transactions finish legally. Descriptors that have not started wait for `resume`. `status.aborting` says when it is
      done.
  pulse resume 1 | Goes on after a halt.
  pulse clear_error 2 | Sets `error.valid` to 0, and the next error is recorded. The other fields of the error stay as
      they are until then.
  pulse pop_completion 3 | Drops the completion in `completion_…`; the next one follows when there is one.
status 0x08 | State of the channel.
  ro busy 0 | A descriptor has started, waits in its ring or `push`, or its completion is not in memory or popped yet.
  ro halted 1 | No descriptor starts until `command.resume`: after an abort, a watchdog, or an error with
      `control.halt_on_error`.
  ro aborting 2 | An abort or a watchdog is not done: open transactions are being finished, or a completion from before
      its end is not in memory or popped yet.
  ro stuck 3 | The watchdog has fired, and a port has not answered since.
  ro completion_waiting 8 | `completion_…` holds a completion. It means nothing while this is 0.
irq_status 0x0C | Why there is an interrupt. Clear it first, then look for completions: none is missed so.
  w1c completion 0 | Enough completions, or one long enough ago.
  w1c error 1 | An error.
irq_enable 0x10 | Which of them assert the interrupt.
  rw completion 0 | Completions do.
  rw error 1 | Errors do.
coalesce_count 0x14 rw 8 memory | Completions that want it per interrupt; 0 is taken as 1.
coalesce_cycles 0x18 rw 32 memory | Clock cycles after the first uncounted completion that raise the interrupt anyway,
      up to 16 late for each queue pair; 0 is never.
""")


def _rings(config: EngineConfig) -> tuple[Register, ...]:
    """Size, bases, heads and tails of both rings."""
    address_bits, index_bits = config.host_address_bits, config.index_bits
    bits = min(address_bits, REGISTER_BITS) - _LINE_BITS
    line = f"rw line {_LINE_BITS} {bits} memory | The address without its 6 low bits, which are 0."
    return (
        *registers(f"""
ring_size 0x1C | Size of both rings; change it only while both are disabled.
  rw log2 0 4 reset={config.ring_entries.bit_length() - 1} memory | log2 of the entries, at most `engine.limits.ring_log2`.
"""),
        *address_pair(
            "ring_base", 0x20, "Where the descriptor ring begins; 64-byte aligned.", address_bits, line
        ),
        *registers(f"""
ring_head 0x28 ro {index_bits} memory | Descriptors fetched. Runs on past the ring's size and wraps at twice the
      largest ring.
ring_tail 0x2C rw {index_bits} memory | The doorbell: descriptors written by software, counted like the head.
"""),
        *address_pair(
            "completion_base", 0x30, "Where the completion ring begins; 64-byte aligned.", address_bits, line
        ),
        *registers(f"""
completion_head 0x38 ro {index_bits} memory | Completions whose write has been answered, counted like the ring's. One whose
      write failed counts, too: see `error`; its slot may not show it.
completion_tail 0x3C rw {index_bits} memory | Completions that software has consumed; the engine waits rather than overwrite
      the others.
"""),
    )


_ERROR = registers(
    """
error 0x40 | The first error since the last `command.clear_error`. Its status, tag and address mean nothing while `valid`
      is 0.
  ro status 0 8 memory choices | Its cause.
  ro valid 31 | There was one.
error_tag 0x44 ro 32 memory | Tag of the descriptor that failed; 0 if it could not be fetched, or if the host stays
      silent under its completion.
error_address_low 0x48 ro 32 memory | The address that belongs to the cause. Bits 31 to 0.
error_address_high 0x4C ro 32 memory | The address that belongs to the cause. Bits 63 to 32.
""",
    tuple((status.name.lower(), int(status)) for status in Status),
)


def _table(config: EngineConfig) -> tuple[Register, ...]:
    """The table of frequent values, for a codec that has one; there is address space for the 15 entries of 4-bit codes."""
    return registers(f"""
table 0x50 count={config.codec.table_size} | The frequent values that mode fvc uses, lowest code first:
      `engine.stream_format.table_size` registers, at most 15, each with a word or the value of a field in its low bits.
      Change them only while the channel is idle. After a reset, `command.soft_reset` too, each is the first of the
      format's values: write them before a transfer of mode fvc.
  rw entry 0 {config.format.entry_bits} reset={config.first_entry} memory | A word, or the value of a field.
""")


_COUNTER_HOLD = registers("""
counter_hold 0x90 | All counters of the channel at one moment, up to 32 cycles apart; the numbers of a completion are in
      all of them or in none.
  rw hold 0 | While `held` is 1, the counters read as when it became so, and go on counting.
  ro held 1 | Follows `hold` within 100 cycles, and 64 more for each other queue pair that asks at once.
""")
