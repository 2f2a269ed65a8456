"""The drivers of the engine: :class:`Driver` for Python, and ``cdma.h`` for C.

Names are imported on first use; nothing here imports Amaranth.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Backend": ".registers",
    "Channel": ".channel",
    "Completion": "cdma.sim.engine.descriptors",
    "Descriptor": "cdma.sim.engine.descriptors",
    "Driver": ".driver",
    "DriverError": ".errors",
    "EngineError": ".errors",
    "Geometry": ".geometry",
    "Mode": "cdma.hdl.spec.records",
    "RingMemory": ".rings",
    "Status": "cdma.hdl.spec.records",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
