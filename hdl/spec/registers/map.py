"""The register map of an engine: its block ``engine``, and the block ``channel`` for offload and for prefetch.

Offsets, field positions and access are the same for every engine, so one driver serves all of them. What differs, a
driver reads from capability registers: which optional registers exist, the entries of the table, and the bits of
addresses and indices.
"""

from __future__ import annotations

from cdma.hdl.spec.engine import LOSSY, EngineConfig
from cdma.hdl.spec.options import COUNTERS, MOST_PAIRS, PAIR_SPAN_LOG2
from cdma.hdl.spec.records import ALL_OPTIONS, RECORD_BYTES, RecordOptions, Status, completion_fields, only_if
from cdma.hdl.spec.registers.declare import address_pair, numbered, record_registers, registers
from cdma.hdl.spec.registers.description import REGISTER_BITS, Access, Block, Register, RegisterMap
from cdma.hdl.spec.registers.optional import (
    COUNTERS_BLOCK,
    SHAPE_BLOCK,
    guard_commands,
    guard_registers,
    guarded,
    message_block,
    owner_block,
    push_block,
    shares_block,
    sideband_registers,
    window_block,
)

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
            *_CHANNEL_CONTROLS,
            *_rings(config),
            *_ERROR,
            *(_table(config) if config.codec.table_size else ()),
            *_COUNTER_HOLD,
            *sideband_registers(config, every=every),
            *record_registers(completion_fields(options), 0xC0, "result", Access.RO, prefix="completion_"),
        ),
        (("offload", 0x200), ("prefetch", 0x300)),
    )


_CHANNEL_CONTROLS = registers("""
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


#: What the first register reads: ``cDMA`` in the order of its bytes.
IDENT = int.from_bytes(b"cDMA", "little")

#: Major and minor version of the map. A driver works with every minor version of the major one that it knows.
VERSION = (2, 1)
#: Bits of the field that counts further queue pairs.
_MORE_PAIRS_BITS = 3


def engine_block(config: EngineConfig, *, every: bool = False) -> Block:
    """The block of the engine that ``config`` describes; with ``every`` also what only other engines have."""
    return Block(
        "engine",
        "What this engine is, and what concerns both channels.",
        (
            *_capabilities(config, every=every),
            *registers(_CONTROLS.format(more=guard_commands(config, every=every))),
            *guard_registers(config, every=every),
            *(registers(_GROUPS.format(bursts=config.group_bursts)) if config.group_bursts or every else ()),
        ),
        (("engine", 0x000),),
    )


def _capabilities(config: EngineConfig, *, every: bool) -> tuple[Register, ...]:
    """What a driver reads to know this engine."""
    form, table_size = config.format, config.codec.table_size
    stripe_log2 = config.stripe_bytes.bit_length() - 1
    any_length = config.alignment == "byte"
    beyond, more_pairs = divmod(config.channels - 1, 1 << _MORE_PAIRS_BITS)
    return registers(f"""
ident 0x00 | The bytes `cDMA`; anything else is not this engine.
  constant value 0 32 reset={IDENT} | Fixed.
version 0x04 | Version of this register map. A higher minor version only adds.
  constant minor 0 16 reset={VERSION[1]} | Minor version.
  constant major 16 16 reset={VERSION[0]} | Major version.
stream_format 0x08 | Format of the compressed streams, and lanes of the codec.
  constant word_bits 0 8 reset={form.word_bits} | Bits of a word.
  constant window 8 8 reset={form.window} | Words that share one header.
  constant code_bits 16 4 reset={form.code_bits} | Bits of a code.
  constant table_size 20 4 reset={table_size} | Entries of a channel's table.
  constant lanes 24 8 reset={config.lanes} | Words of one beat of the codec.
{_port(config, "dev", 0x0C, config.dev_address_bits, every=every)}
{_port(config, "host", 0x10, config.host_address_bits, every=every)}
bursts 0x14 | How the ports issue bursts.
  constant beats 0 9 reset={config.burst_beats} | Beats of the longest burst.
  constant ring_reads 9 7 reset={config.ring_reads} | Reads of descriptors in flight at most, on the host port beside the
      data.
  constant outstanding 16 9 reset={config.outstanding} | Bursts of data in flight at most, per port and direction.
  constant ring_writes 25 7 reset={config.ring_writes} | Writes of completions in flight at most, on the host port beside
      the data.
limits 0x18 | Limits of rings and counters.
  constant ring_log2 0 4 reset={config.ring_entries.bit_length() - 1} | log2 of the entries of the largest ring.
  constant crc 4 reset={config.crc:d} | Descriptors and completions have a CRC of the raw bytes.
  constant lossy 5 2 reset={LOSSY.index(config.lossy)} | Descriptors may have a step, for numbers of this type:
      {numbered(LOSSY)}. Their integers are words.
  constant keep_nonzero 7 reset={config.keep_nonzero:d} | No number but zero becomes the integer 0.
  constant record_bytes 8 8 reset={RECORD_BYTES} | Bytes of a descriptor and of a completion.
  constant counters 16 8 reset={len(COUNTERS)} | Counters of a channel.
  constant units 24 4 reset={config.units} | Device ports, each with a compressor and a decompressor.
  constant stripe_log2 28 4 reset={stripe_log2} | Addresses of device memory belong to the device ports in turn, 2**this
      bytes each.
stream_fields 0x1C | Format of the compressed streams, continued: what codes are about, and the padding of windows.
  constant field_bits 0 8 reset={form.field_bits} | Bits of the field of a word that codes are about; 0: words.
  constant rotate 8 8 reset={form.rotate} | Bits that a word is rotated left by, so that its field is on top.
  constant zero 16 reset={form.zero:d} | Code 0 is a word of zeros, and the table's codes begin with 1.
  {only_if(config.group_bursts or every)}constant grouped 17 reset={config.group_bursts > 0:d} | There is `groups`.
  {only_if(config.delta or every)}constant delta 18 reset={config.delta:d} | Descriptors may name a base: streams then have
      raw data XOR its bytes.
  {only_if(form.levels > 1 or every)}constant two_levels 19 reset={form.levels > 1:d} | Windows are in groups, each behind
      a mask of as many bits as a header.
  {only_if(beyond or every)}constant pairs_beyond 20 3 reset={beyond} | Eights of further queue pairs, beside those
      of `more_pairs`.
  constant align_log2 24 4 reset={form.align.bit_length() - 1} | Each window is padded to a multiple of 2**this bytes.
  {only_if(any_length or every)}constant any_length 28 reset={any_length:d} | Lengths without a step are any number of
      bytes: zeros fill the last word in the stream.
  {only_if(config.channels > 1 or every)}constant more_pairs 29 {_MORE_PAIRS_BITS} reset={more_pairs} | Further
      queue pairs, whose registers are in the pages of 4 KiB after this one's.
""")


def _port(config: EngineConfig, name: str, offset: int, address_bits: int, *, every: bool) -> str:
    """The lines of the register with the geometry of a port."""
    dev, host = name == "dev", name == "host"
    user_bits = config.sideband.axuser_bits if config.sideband_registers else 0
    align_log2 = config.align(name).bit_length() - 1
    return f"""\
{name}_port {offset:#x} | Geometry of the {name} port.
  constant data_bits 0 11 reset={config.data_bits(name)} | Bits of its data.
  constant user_bits 11 5 reset={user_bits} | Bits of AxUSER that software sets.
  constant address_bits 16 7 reset={address_bits} | Bits of its addresses.
  constant align_log2 24 4 reset={align_log2} | Source and destination on this port are multiples of 2**this bytes.
  constant sideband 28 reset={config.sideband_registers:d} | Channels have registers of the sideband.
  constant guarded 23 reset={guarded(config):d} | There is `guards`.
  {only_if(dev and (config.dimensions or every))}constant dimensions 29 3 reset={config.dimensions} | Dimensions of a shape
      above its row; 0: none.
  {only_if(host and (config.pages or every))}constant pages 29 reset={config.pages:d} | Descriptors may have a list of pages.
  {only_if(host and (config.msi or every))}constant messages 30 reset={config.msi:d} | Interrupts are written, too."""


_CONTROLS = """
command 0x20 | Acts on the whole engine.
  pulse soft_reset 0 | Aborts both channels, then returns everything but windows and locks to its reset value.
      `status.resetting` says when it is done; write nothing before.
  pulse clear_counters 1 | Sets all counters of both channels to 0, but not what is held.
{more}
status 0x24 | State of the whole engine.
  ro resetting 0 | A soft reset is in progress.
  ro offload_irq 8 | The offload channel asserts the interrupt.
  ro prefetch_irq 9 | The prefetch channel asserts the interrupt.
watchdog 0x28 rw 32 | Clock cycles that a port may leave an open transaction without an answer; 0 is for ever.
"""

#: There where `stream_fields.grouped` is 1.
_GROUPS = """
groups 0x38 rw 9 reset={bursts} | Bursts that a port with groups reads before it writes, and the other way, while both wait;
      0: as they come. In several queue pairs, that of the first. See docs/options/dram.md.
"""

_DOC = (
    "Registers are 32 bits wide and little-endian, at multiples of 4. "
    "An address without a register answers SLVERR: a read gives 0, a write does nothing. "
    "Writes to read-only fields and to locked registers do nothing and answer OKAY. "
    "Byte strobes are obeyed. Bits that no field names read as 0; write them as 0. "
    "A write has taken effect when its response is there. "
    "After a reset or a soft reset an access may wait for up to 128 cycles, until the registers have their reset values; "
    "with queue pairs for as many for each, after a reset of the hardware or a soft reset of the first. "
    "Offsets and field positions are the same for every engine; "
    "the capability registers say what this one has, "
    "and their reset values below are those of the configuration this text was made for."
)


def register_map(config: EngineConfig, *, every: bool = False) -> RegisterMap:
    """The map of the engine that ``config`` describes; with ``every`` also the registers that only others have, for
    software that serves all engines."""
    options = ALL_OPTIONS if every else config.records
    pairs = MOST_PAIRS if every else config.channels
    return RegisterMap(
        "cdma",
        _DOC,
        (
            engine_block(config, every=every),
            window_block("dev", config.dev_address_bits, 0x100, opened=config.open_windows),
            window_block("host", config.host_address_bits, 0x120, opened=config.open_windows),
            push_block(options),
            channel_block(config, options, every=every),
            COUNTERS_BLOCK,
            *((SHAPE_BLOCK,) if options.dimensions else ()),
            *((owner_block(options.owner_fields),) if options.owner_bits else ()),
            *((message_block(config),) if config.msi or every else ()),
            *((shares_block(pairs),) if pairs > 1 else ()),
        ),
        PAIR_SPAN_LOG2,
    )
