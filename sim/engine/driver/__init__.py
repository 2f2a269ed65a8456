"""The drivers of the engine: :class:`Driver` for Python, and ``cdma.h`` for C.

Names are imported on first use; nothing here imports Amaranth.
"""

from typing import TYPE_CHECKING

from cdma.base.lazy import names_of

if TYPE_CHECKING:  # for editors and type checkers
    from cdma.hdl.spec.owner import Owner
    from cdma.hdl.spec.records import Mode, Status
    from cdma.sim.engine.descriptors import Completion, Descriptor
    from cdma.sim.engine.driver.channel import Channel
    from cdma.sim.engine.driver.driver import Driver
    from cdma.sim.engine.driver.errors import DriverError, EngineError
    from cdma.sim.engine.driver.geometry import Geometry
    from cdma.sim.engine.driver.pages import Pages, list_pages
    from cdma.sim.engine.driver.registers import Backend
    from cdma.sim.engine.driver.rings import RingMemory

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
    "Owner": "cdma.hdl.spec.owner",
    "Pages": ".pages",
    "RingMemory": ".rings",
    "Status": "cdma.hdl.spec.records",
    "list_pages": ".pages",
}

__all__ = [
    "Backend",
    "Channel",
    "Completion",
    "Descriptor",
    "Driver",
    "DriverError",
    "EngineError",
    "Geometry",
    "Mode",
    "Owner",
    "Pages",
    "RingMemory",
    "Status",
    "list_pages",
]

__getattr__ = names_of(__name__, _HOME)
