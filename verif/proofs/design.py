"""How a design must be built for a proof to be about its blocks: other sizes are no matter, but what an option adds to a
block is not in a proof without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from amaranth.hdl import Elaboratable, Fragment

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import NO_OPTIONS, RecordOptions
from cdma.hdl.spec.stage import StageConfig

__all__ = ["Config", "any_design", "blocks_in", "codec_in", "engine_with", "plain_codec"]

#: What a design is made from.
Config = CodecConfig | StageConfig | EngineConfig


def codec_in(config: Config) -> CodecConfig | None:
    """The codec of a design, or None if it has none."""
    if isinstance(config, StageConfig):
        return None
    return config.codec if isinstance(config, EngineConfig) else config


def blocks_in(block: Elaboratable) -> frozenset[type]:
    """The classes of the blocks that a block is made of, its own among them."""
    found: set[type] = set()
    left = [Fragment.get(block, None)]
    while left:
        fragment = left.pop()
        found.update(map(type, fragment.origins or ()))
        left += [inner for inner, *_ in fragment.subfragments]
    return frozenset(found)


def any_design(config: Config) -> bool:
    """The block is built in one way."""
    return True


def plain_codec(config: Config) -> bool:
    """The codec is not pipelined, has codes of whole words, no padding, and the queue that loses no cycle."""
    codec = codec_in(config)
    return (
        codec is not None
        and isinstance(codec.format, Format)
        and not codec.pipelined
        and codec.work_conserving
        and not codec.format.field_bits
        and codec.format.align_words == 1
    )


def _without(options: RecordOptions, *, owners: bool) -> RecordOptions:
    return replace(options, stream_id_bits=0, substream_id_bits=0) if owners else options


def engine_with(
    *,
    options: bool = False,
    realign: bool = False,
    units: bool = False,
    owners: bool = False,
    tails: bool = True,
) -> Callable[[Config], bool]:
    """An engine that is not pipelined and has nothing of all this but what is said; without ``tails`` raw data are whole
    words."""

    def built_so(config: Config) -> bool:
        return isinstance(config, EngineConfig) and (
            not config.pipelined
            and not config.coded_memories
            and (options or _without(config.records, owners=owners) == NO_OPTIONS)
            and (config.records.owner_bits > 0 or not owners)
            and (realign or not config.realign)
            and (units or config.units == 1)
            and (tails or not config.tail_bits)
        )

    return built_so
