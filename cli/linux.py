"""The engine behind ``/dev/cdma0`` for a program on Linux: arrays leave to host memory, and come back.

The driver is a module, ``cdma.ko`` (docs/linux.md)::

    with cdma.linux.Device() as engine:
        handle = engine.offload(array)
        print(handle.nbytes, "bytes instead of", array.nbytes)
        array = handle.prefetch()
"""

from cdma.sim.engine.driver.linux.device import Device, DeviceError, Handle

__all__ = ["Device", "DeviceError", "Handle"]
