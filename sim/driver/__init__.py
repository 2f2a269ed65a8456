"""The drivers of the engine: :class:`Driver` for Python, and ``cdma.h`` for C.

Names are imported on first use; nothing here imports Amaranth.
"""

from cdma.hdl.spec.lazy import names_of

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

__getattr__ = names_of(__name__, _HOME)
