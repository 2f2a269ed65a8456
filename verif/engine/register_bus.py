"""A master at the register port of an engine, which is AXI4-Lite."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cocotb.triggers import Event
from cocotbext.axi import AxiResp

from cdma.verif.simulator.monitors.pins import level, number

__all__ = ["CHANNELS", "RegisterBus", "Response"]

#: The channels of the port.
CHANNELS = ("aw", "w", "b", "ar", "r")
_BYTES = 4


@dataclass(frozen=True)
class Response:
    """What a read or a write was answered with."""

    resp: AxiResp
    data: bytes = b""


@dataclass
class _Access:
    """An access that waits for its response."""

    done: Event = field(default_factory=Event)
    response: Response | None = None


class RegisterBus:
    """Gives reads and writes to the port, each kind in the order of its calls, several in flight.

    ``pauses``
        The share of cycles in which each channel rests.
    """

    def __init__(self, dut: Any, prefix: str, rng: random.Random) -> None:
        self.pauses = dict.fromkeys(CHANNELS, 0.0)
        self._rng = random.Random(rng.random())
        self._address = _Requests(dut, f"{prefix}_aw", ("addr",))
        self._data = _Requests(dut, f"{prefix}_w", ("data", "strb"))
        self._reads = _Requests(dut, f"{prefix}_ar", ("addr",))
        self._written = _Responses(dut, f"{prefix}_b")
        self._read = _Responses(dut, f"{prefix}_r")
        self._value = number(getattr(dut, f"{prefix}_rdata"))
        for way in ("aw", "ar"):
            getattr(dut, f"{prefix}_{way}prot").value = 0

    async def write(self, address: int, data: bytes) -> Response:
        """Writes bytes that lie in one register."""
        first = address % _BYTES
        value = int.from_bytes(data, "little") << 8 * first
        strobes = ((1 << len(data)) - 1) << first
        self._address.queue.append((address,))
        self._data.queue.append((value, strobes))
        return await self._written.wait()

    async def read(self, address: int) -> Response:
        """Reads a register."""
        self._reads.queue.append((address,))
        return await self._read.wait()

    def step(self, cycle: int, in_reset: bool) -> None:
        """Sees one rising edge."""
        if in_reset:
            for end in (self._address, self._data, self._reads, self._written, self._read):
                end.forget()
            return
        if self._written.waiting:
            self._address.step(self._rests("aw"))
            self._data.step(self._rests("w"))
            self._written.step(self._rests("b"), lambda: b"")
        if self._read.waiting:
            self._reads.step(self._rests("ar"))
            self._read.step(self._rests("r"), lambda: self._value().to_bytes(_BYTES, "little"))

    def _rests(self, channel: str) -> bool:
        share = self.pauses[channel]
        return share > 0 and self._rng.random() < share


class _Requests:
    """A channel that the master drives: what it offers stays until it is taken."""

    def __init__(self, dut: Any, prefix: str, payload: Sequence[str]) -> None:
        self.queue: deque[tuple[int, ...]] = deque()
        self._pins = [getattr(dut, f"{prefix}{name}") for name in payload]
        self._valid = getattr(dut, f"{prefix}valid")
        self._ready = level(getattr(dut, f"{prefix}ready"))
        self._offered = False
        for pin in (self._valid, *self._pins):
            pin.value = 0

    def step(self, rests: bool) -> None:
        """Sees one rising edge, after which the channel may rest."""
        if self._offered:
            if not self._ready():
                return
            self.queue.popleft()
        offers = bool(self.queue) and not rests
        if offers:
            for pin, value in zip(self._pins, self.queue[0], strict=True):
                pin.value = value
        self._offer(offers)

    def forget(self) -> None:
        """Forgets what a reset has cut off."""
        self.queue.clear()
        self._offer(False)

    def _offer(self, offers: bool) -> None:
        if offers != self._offered:
            self._offered = offers
            self._valid.value = int(offers)


class _Responses:
    """A channel that the engine drives.

    ``waiting``
        Are the accesses without a response, in their order.
    """

    def __init__(self, dut: Any, prefix: str) -> None:
        self.waiting: deque[_Access] = deque()
        self._valid = level(getattr(dut, f"{prefix}valid"))
        self._response = number(getattr(dut, f"{prefix}resp"))
        self._ready = getattr(dut, f"{prefix}ready")
        self._willing = False
        self._ready.value = 0

    async def wait(self) -> Response:
        """Waits for the response of the access that comes next."""
        access = _Access()
        self.waiting.append(access)
        await access.done.wait()
        assert access.response is not None, "a reset cut the access off"
        return access.response

    def step(self, rests: bool, data: Callable[[], bytes]) -> None:
        """Sees one rising edge, after which the channel may rest."""
        if self._willing and self._valid():
            access = self.waiting.popleft()
            access.response = Response(AxiResp(self._response()), data())
            access.done.set()
        self._take(not rests)

    def forget(self) -> None:
        """Forgets what a reset has cut off."""
        while self.waiting:
            self.waiting.popleft().done.set()
        self._take(False)

    def _take(self, willing: bool) -> None:
        if willing != self._willing:
            self._willing = willing
            self._ready.value = int(willing)
