"""The blocks whose packages the tests look at, each made once."""

from __future__ import annotations

import argparse
from functools import cache

from cdma.commands.generate.codec import MadeCodec
from cdma.commands.generate.engine import MadeEngine
from cdma.commands.generate.made import Made
from cdma.commands.generate.stage import MadeStage
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import StageConfig

__all__ = ["BLOCKS", "made"]

_TINY = CodecConfig(Format(8, 8, 2), lanes=2, runtime_values=True)
_ENGINE = EngineConfig(
    Format(16), lanes=4, dev_data_bits=64, host_data_bits=64, latency=16, descriptors=2, ring_entries=16
)
_MADE: dict[str, tuple[type[Made], object]] = {
    "compressor": (MadeCodec, _TINY),
    "decompressor": (MadeCodec, _TINY),
    "quantiser": (MadeStage, StageConfig(lanes=2)),
    "engine": (MadeEngine, _ENGINE),
}
BLOCKS = tuple(_MADE)


@cache
def made(block: str) -> Made:
    """The block with the name ``mine``, and no initial values."""
    kind, config = _MADE[block]
    asked = argparse.Namespace(
        block=block,
        name="mine",
        prefix=None,
        init=False,
        memories="wrap",
        period=2.5,
        registers=None,
        area=None,
    )
    return kind(asked, config)  # type: ignore[call-arg]
