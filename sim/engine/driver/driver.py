"""The Python driver of an engine, and the text of the C driver.

A driver has rings, direct descriptors, interrupts, errors, counters and address windows. It needs a backend with
``read32(address)`` and ``write32(address, value)`` for the registers, and a buffer of host memory for the rings, and
reads everything else from the engine. One object drives one engine, from one thread at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

from cdma.hdl.spec.options import MEMORY_CODES, PAIR_SPAN_LOG2, PROTECTIONS

from .channel import Channel
from .rings import Backend, DriverError, Registers, read_geometry


def c_driver(name: str = "cdma") -> str:
    """Returns the text of ``cdma.h``, which includes the ``NAME_regs.h`` of any engine."""
    text = (files(__package__) / "cdma.h").read_text(encoding="utf-8")
    return text.replace('#include "cdma_regs.h"', f'#include "{name}_regs.h"')


class Driver:
    """One engine.

    ``windows``: The first and the last address to open on ports, by ``"dev"`` and ``"host"``. Both are closed after a
        reset of the hardware; what is not given stays as it is.
    ``idle``: Called between two looks at memory or registers while waiting: advances a simulation, or sleeps.
    ``channel``: Which of several queue pairs: to its software each is an engine of its own. With a ``backend`` that
        reaches the registers of one pair alone it is 0.
    ``wait_irq``: Blocks until the interrupt line is high or so many seconds have passed; waiting by interrupt needs it.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        windows: Mapping[Literal["dev", "host"], tuple[int, int]] = MappingProxyType({}),
        idle: Callable[[], object] = lambda: None,
        wait_irq: Callable[[float], object] | None = None,
        channel: int = 0,
    ) -> None:
        self.registers = Registers(backend)
        self.idle = idle
        self.wait_irq = wait_irq
        self.geometry = read_geometry(self.registers)
        if not 0 <= channel < self.geometry.pairs:
            raise DriverError(f"channel is {channel}; the engine has {self.geometry.pairs}, counted from 0")
        self.registers = Registers(backend, channel << PAIR_SPAN_LOG2)
        self.offload = Channel(self, "offload")
        self.prefetch = Channel(self, "prefetch")
        for port, (base, limit) in windows.items():
            self.set_window(port, base, limit)

    def soft_reset(self, timeout: float = 10.0) -> None:
        """Ends all open transactions, and resets all registers but windows and locks."""
        self.registers.set("engine.command", soft_reset=1)
        self.until(lambda: not self.registers.fields("engine.status")["resetting"], timeout, "the soft reset")
        for channel in (self.offload, self.prefetch):
            channel.forget()

    def clear_counters(self) -> None:
        self.registers.set("engine.command", clear_counters=1)

    def set_watchdog(self, cycles: int) -> None:
        """Sets how many cycles a port may leave an open transaction without an answer; 0: any number."""
        if not 0 <= cycles < 1 << 32:
            raise DriverError(f"the watchdog is {cycles!r} cycles; it must be 0 to {2**32 - 1}")
        self.registers.write("engine.watchdog", cycles)

    def set_groups(self, bursts: int) -> None:
        """Sets how many bursts a port with groups reads before it writes, and the other way; 0: as they come."""
        if not 0 <= bursts < 1 << 9:
            raise DriverError(f"a group is {bursts!r} bursts; it must be 0 to {2**9 - 1}")
        if not self.registers.fields("engine.stream_fields").get("grouped"):
            raise DriverError("the engine has no groups of bursts (--group-bursts)")
        self.registers.write("engine.groups", bursts)

    def set_window(self, port: Literal["dev", "host"], base: int, limit: int, *, lock: bool = False) -> None:
        """Allows the engine the addresses ``base`` to ``limit``, both included, on ``port``, and no others.

        Raises :class:`DriverError` if the window is another afterwards: it was locked, or has address bits that the
        port lacks.
        """
        if base % 4096 or (limit + 1) % 4096 or not 0 <= base < 1 << 64 or not 0 <= limit < 1 << 64:
            raise DriverError(
                f"the window of {port} is {base:#x} to {limit:#x}; it must begin and end on a boundary "
                "of 4 KiB, within 64 bits"
            )
        for half, value in (("base", base), ("limit", limit)):
            self.registers.write64(f"{port}_window.{half}", value)
        if lock:
            self.registers.set(f"{port}_window.lock", locked=1)
        actual = (self.registers.read64(f"{port}_window.base"), self.registers.read64(f"{port}_window.limit"))
        if actual != (base, limit):
            raise DriverError(
                f"the window of {port} was to be {base:#x} to {limit:#x} and is {actual[0]:#x} to "
                f"{actual[1]:#x}: it is locked, or the port has fewer address bits"
            )

    def denied(self) -> dict[str, int]:
        """The refused accesses to registers: ``count``, and ``address``, ``prot`` and ``write`` of the first one."""
        self._protected()
        return self.registers.fields("engine.denied")

    def clear_denied(self) -> None:
        """Clears the count of refused accesses."""
        self._protected()
        self.registers.set("engine.command", clear_denied=1)

    def flips(self) -> dict[str, int]:
        """The words in the engine's memories that were found wrong: how many were ``corrected``, and how many ``lost``."""
        self._coded()
        return self.registers.fields("engine.flips")

    def clear_flips(self) -> None:
        """Clears the counts of wrong words."""
        self._coded()
        self.registers.set("engine.command", clear_flips=1)

    def _coded(self) -> None:
        if self.geometry.memories_protect == MEMORY_CODES[0]:
            raise DriverError("the engine's memories have no checks (memories_protect)")

    def _protected(self) -> None:
        if self.geometry.register_protection == PROTECTIONS[0]:
            raise DriverError("the engine refuses no access to its registers (register_protection)")

    def until(self, done: Callable[[], object], timeout: float, what: str) -> None:
        """Calls ``idle`` until ``done()``; raises :class:`DriverError` after ``timeout`` seconds."""
        end = time.monotonic() + timeout
        while not done():
            if time.monotonic() > end:
                raise DriverError(f"{what} took longer than {timeout:g} s")
            self.idle()
