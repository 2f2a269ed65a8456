"""The golden model: what the format is and what the hardware must do, in numpy.

Names are imported on first use; nothing here imports Amaranth.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Analysis": "codec",
    "Completion": "descriptors",
    "CorruptStream": "codec",
    "Descriptor": "descriptors",
    "Driver": "driver",
    "EngineModel": "engine_model",
    "Memory": "memory",
    "PacketReport": "packets",
    "PacketResult": "packets",
    "RingMemory": "driver",
    "analyse": "codec",
    "compress": "codec",
    "compress_words": "codec",
    "decode_packet": "packets",
    "decompress": "codec",
    "decompress_words": "codec",
    "encode_packet": "packets",
    "word_dtype": "words",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
