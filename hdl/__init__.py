"""Amaranth RTL of the engine, and the parameters that it shares with the software.

Names are imported on first use, so that ``from cdma.hdl import Format`` does not load Amaranth.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "CdmaError": "spec.errors",
    "ParameterError": "spec.errors",
    "CodecConfig": "spec.codec",
    "EngineConfig": "spec.engine",
    "Format": "spec.format",
    "Beat": "blocks.beats",
    "Report": "codec.parts.streams",
    "Error": "codec.parts.streams",
    "Compressor": "codec.compressor",
    "Decompressor": "codec.decompressor",
    "Engine": "engine.engine",
    "EngineCore": "engine.core",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
