"""The golden model: what the format is and what the hardware must do, in numpy.

Names are imported on first use; nothing here imports Amaranth.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers
    from cdma.sim.codec.model import (
        Analysis,
        CorruptStream,
        PacketReport,
        PacketResult,
        analyse,
        compress,
        compress_words,
        decode_packet,
        decompress,
        decompress_words,
        encode_packet,
    )
    from cdma.sim.codec.words import word_dtype
    from cdma.sim.engine.driver.driver import Driver
    from cdma.sim.engine.driver.rings import RingMemory
    from cdma.sim.engine.memory import Completion, Descriptor, Memory
    from cdma.sim.engine.model import EngineModel

_HOME = {
    "Analysis": ".codec.model",
    "Completion": ".engine.memory",
    "CorruptStream": ".codec.model",
    "Descriptor": ".engine.memory",
    "Driver": ".engine.driver.driver",
    "EngineModel": ".engine.model",
    "Memory": ".engine.memory",
    "PacketReport": ".codec.model",
    "PacketResult": ".codec.model",
    "RingMemory": ".engine.driver.rings",
    "analyse": ".codec.model",
    "compress": ".codec.model",
    "compress_words": ".codec.model",
    "decode_packet": ".codec.model",
    "decompress": ".codec.model",
    "decompress_words": ".codec.model",
    "encode_packet": ".codec.model",
    "word_dtype": ".codec.words",
}

__all__ = [
    "Analysis",
    "Completion",
    "CorruptStream",
    "Descriptor",
    "Driver",
    "EngineModel",
    "Memory",
    "PacketReport",
    "PacketResult",
    "RingMemory",
    "analyse",
    "compress",
    "compress_words",
    "decode_packet",
    "decompress",
    "decompress_words",
    "encode_packet",
    "word_dtype",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)
