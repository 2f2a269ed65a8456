"""The drivers of the engine: :class:`Driver` for Python, and ``cdma.h`` for C.

Names are imported on first use; nothing here imports Amaranth.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Backend": "driver",
    "Channel": "driver",
    "Completion": "driver",
    "Descriptor": "driver",
    "Driver": "driver",
    "DriverError": "driver",
    "EngineError": "driver",
    "Geometry": "driver",
    "Mode": "driver",
    "RingMemory": "driver",
    "Status": "driver",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
