"""The engine behind ``/dev/cdma0`` for a program on Linux: arrays leave to host memory, and come back.

The driver is a module, ``cdma.ko`` (docs/linux.md)::

    with cdma_linux.Device() as engine:
        handle = engine.offload(array)
        print(handle.nbytes, "bytes instead of", array.nbytes)
        array = handle.prefetch()

The names are imported on first use.
"""

from typing import TYPE_CHECKING

from cdma.base.lazy import names_of

if TYPE_CHECKING:
    from cdma_linux.device import Device, DeviceError, Handle

_HOMES = {".device": "Device DeviceError Handle"}

__all__ = ["Device", "DeviceError", "Handle"]

__getattr__ = names_of(__name__, _HOMES)
