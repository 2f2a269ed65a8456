"""The engine's register map. Plain data, without Amaranth.

Offsets, field positions and access are the same for every engine, so that one driver serves all of them. What
differs is what the capability registers read, the number of entries of the table, the registers of the CRC, of the range,
of the shape, of the sideband, of the guards, of owners, of messages and of the shares, and the number of bits of addresses
and indices; a driver reads that at run time.
"""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import MOST_PAIRS, PAIR_SPAN_LOG2
from cdma.hdl.spec.records import ALL_OPTIONS

from .channel import channel_block
from .description import RegisterMap
from .engine import engine_block
from .optional import (
    COUNTERS_BLOCK,
    SHAPE_BLOCK,
    message_block,
    owner_block,
    push_block,
    shares_block,
    window_block,
)

__all__ = ["register_map"]

_DOC = (
    "Registers are 32 bits wide and little-endian, at multiples of 4. "
    "An address without a register answers SLVERR: a read gives 0, a write does nothing. "
    "Writes to read-only fields and to locked registers do nothing and answer OKAY. "
    "Byte strobes are obeyed. Bits that no field names read as 0; write them as 0. "
    "A write has taken effect when its response is there. "
    "After a reset or a soft reset an access may wait for up to 128 cycles, until the registers have their reset values. "
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
