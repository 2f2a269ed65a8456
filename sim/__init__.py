"""The golden model: what the format is and what the hardware must do, in numpy.

Names are imported on first use; nothing here imports Amaranth.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Analysis": "codec.results",
    "Completion": "engine.descriptors",
    "CorruptStream": "codec.results",
    "Descriptor": "engine.descriptors",
    "Driver": "driver.driver",
    "EngineModel": "engine.model",
    "Memory": "engine.memory",
    "PacketReport": "codec.results",
    "PacketResult": "codec.results",
    "RingMemory": "driver.rings",
    "analyse": "codec.model",
    "compress": "codec.model",
    "compress_words": "codec.model",
    "decode_packet": "codec.model",
    "decompress": "codec.model",
    "decompress_words": "codec.model",
    "encode_packet": "codec.model",
    "word_dtype": "codec.words",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
