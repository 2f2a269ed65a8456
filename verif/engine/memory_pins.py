"""A port of a memory at the pins of a simulation."""

from __future__ import annotations

from typing import Any

from cdma.verif.simulator.monitors.pins import level, number

from .memory import Memory
from .memory_port import Port

__all__ = ["PERIOD_NS", "MemoryPins"]

#: Of the clock.
PERIOD_NS = 10


class MemoryPins:
    """Serves the pins that begin with a prefix.

    ``port``
        Is what answers. Its bus is as wide as the pins.
    """

    def __init__(self, memory: Memory, dut: Any, prefix: str) -> None:
        self.port = Port(memory, len(getattr(dut, f"{prefix}_wstrb")))
        self._reads = _Reads(self.port, dut, prefix)
        self._writes = _Writes(self.port, dut, prefix)

    def step(self, cycle: int, in_reset: bool) -> None:
        """Sees one rising edge."""
        self._reads.step(cycle, in_reset)
        self._writes.step(cycle, in_reset)


class _Driven:
    """The pins that a memory drives, each only where its value changes."""

    def __init__(self, dut: Any, prefix: str, names: tuple[str, ...]) -> None:
        self._pins = {name: getattr(dut, f"{prefix}_{name}") for name in names}
        self._values = dict.fromkeys(names, 0)
        for pin in self._pins.values():
            pin.value = 0

    def drive(self, name: str, value: int) -> None:
        """Drives a pin."""
        if self._values[name] != value:
            self._values[name] = value
            self._pins[name].value = value


class _Requests:
    """The pins of AR or AW."""

    def __init__(self, dut: Any, prefix: str, way: str) -> None:
        self.valid = level(getattr(dut, f"{prefix}_{way}valid"))
        self._id, self._address, self._length, self._size = (
            number(getattr(dut, f"{prefix}_{way}{name}")) for name in ("id", "addr", "len", "size")
        )

    def burst(self) -> tuple[int, int, int, int]:
        """The ID, the address, the beats and the bytes of a beat."""
        return self._id(), self._address(), self._length() + 1, 1 << self._size()


class _Reads:
    """AR and R of a port."""

    def __init__(self, port: Port, dut: Any, prefix: str) -> None:
        self._port = port
        self._requests = _Requests(dut, prefix, "ar")
        self._rready = level(getattr(dut, f"{prefix}_rready"))
        self._pins = _Driven(dut, prefix, ("arready", "rvalid", "rdata", "rlast", "rresp", "rid"))
        self._ready, self._offered = True, False
        self._pins.drive("arready", 1)

    def step(self, cycle: int, in_reset: bool) -> None:
        port, pins = self._port, self._pins
        asked = self._requests.valid()
        if not (asked or self._offered or port.reading):
            return
        if in_reset:
            port.forget_reads()
            self._offered = False
            pins.drive("rvalid", 0)
            return
        if self._ready and asked:
            port.ask("ar", cycle, *self._requests.burst())
        self._ready = port.takes_read()
        pins.drive("arready", self._ready)
        if self._offered and not self._rready():
            return
        beat = port.next_beat(cycle)
        self._offered = beat is not None
        pins.drive("rvalid", self._offered)
        if beat is not None:
            pins.drive("rid", beat.id)
            pins.drive("rdata", beat.data)
            pins.drive("rresp", beat.response)
            pins.drive("rlast", beat.last)


class _Writes:
    """AW, W and B of a port."""

    def __init__(self, port: Port, dut: Any, prefix: str) -> None:
        self._port = port
        self._requests = _Requests(dut, prefix, "aw")
        self._wvalid, self._bready = (
            level(getattr(dut, f"{prefix}_{name}")) for name in ("wvalid", "bready")
        )
        self._data, self._strobes = (number(getattr(dut, f"{prefix}_{name}")) for name in ("wdata", "wstrb"))
        self._pins = _Driven(dut, prefix, ("awready", "wready", "bvalid", "bresp", "bid"))
        self._ready, self._takes, self._offered = True, False, False
        self._pins.drive("awready", 1)

    def step(self, cycle: int, in_reset: bool) -> None:
        port, pins = self._port, self._pins
        asked = self._requests.valid()
        if not (asked or self._offered or port.writing):
            return
        if in_reset:
            port.forget_writes()
            self._takes = self._offered = False
            pins.drive("wready", 0)
            pins.drive("bvalid", 0)
            return
        if self._takes and self._wvalid():
            port.put(cycle, self._data(), self._strobes())
        if self._ready and asked:
            port.ask("aw", cycle, *self._requests.burst())
        self._ready, self._takes = port.takes_write(), port.takes_data(cycle)
        pins.drive("awready", self._ready)
        pins.drive("wready", self._takes)
        if self._offered and not self._bready():
            return
        answer = port.next_answer(cycle)
        self._offered = answer is not None
        pins.drive("bvalid", self._offered)
        if answer is not None:
            pins.drive("bid", answer.id)
            pins.drive("bresp", answer.response)
