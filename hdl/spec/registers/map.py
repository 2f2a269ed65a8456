"""The register map of an engine, and its block ``engine``.

Offsets, field positions and access are the same for every engine, so one driver serves all of them. What differs, a
driver reads from capability registers: which optional registers exist, the entries of the table, and the bits of
addresses and indices.
"""

from __future__ import annotations

from cdma.hdl.spec.engine import LOSSY, EngineConfig
from cdma.hdl.spec.options import COUNTERS, MOST_PAIRS, PAIR_SPAN_LOG2
from cdma.hdl.spec.records import ALL_OPTIONS, RECORD_BYTES, only_if

from .channel import channel_block
from .declare import numbered, registers
from .description import Block, Register, RegisterMap
from .optional import (
    COUNTERS_BLOCK,
    SHAPE_BLOCK,
    guard_commands,
    guard_registers,
    guarded,
    message_block,
    owner_block,
    push_block,
    shares_block,
    window_block,
)

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
