"""The drivers of the engine: :class:`Driver` for Python, and ``cdma.h`` for C.

Names are imported on first use; nothing here imports Amaranth.
"""

from typing import TYPE_CHECKING

from cdma.base.lazy import names_of

if TYPE_CHECKING:  # for editors and type checkers
    from cdma.hdl.spec.options import Owner
    from cdma.hdl.spec.records import Mode, Status
    from cdma.sim.engine.driver.channel import Channel
    from cdma.sim.engine.driver.driver import Driver
    from cdma.sim.engine.driver.rings import (
        Backend,
        DriverError,
        EngineError,
        Geometry,
        Pages,
        RingMemory,
        list_pages,
    )
    from cdma.sim.engine.memory import Completion, Descriptor

#: The names by the modules that they come from.
_HOMES = {
    ".channel": "Channel",
    ".driver": "Driver",
    ".rings": "Backend DriverError EngineError Geometry Pages RingMemory list_pages",
    "cdma.hdl.spec.options": "Owner",
    "cdma.hdl.spec.records": "Mode Status",
    "cdma.sim.engine.memory": "Completion Descriptor",
}

__all__ = [
    "Backend", "Channel", "Completion", "Descriptor", "Driver", "DriverError", "EngineError", "Geometry",
    "Mode", "Owner", "Pages", "RingMemory", "Status", "list_pages",
]  # fmt: skip

__getattr__ = names_of(__name__, _HOMES)
