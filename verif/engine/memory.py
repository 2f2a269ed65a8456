"""The memory at a port of the engine: one of cocotbext-axi's, slow and faulty where a test wants it so."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiRam, AxiResp

__all__ = ["DATA", "GUARD", "SIZE", "EngineMemory", "Far"]

SIZE = 1 << 20
#: What memory holds where nobody has written.
GUARD = 0xA5
#: Data of transfers lie from here on, and rings below.
DATA = 0x10000


class _Injected(Exception):
    """An access that is to be answered with an error."""


class Far:
    """Addresses beyond the memory: what is read follows from the address, what is written is checked.

    Reads and writes must each go through it in order, from ``start`` on; with several ``units``, through the stripes of
    each of them.
    """

    def __init__(
        self,
        start: int,
        data: Callable[[int, int], bytes],
        expected: bytes = b"",
        stripe_bytes: int = 4096,
        units: int = 1,
    ) -> None:
        self.start = start
        self.data = data
        self.expected = expected
        self.stripe_bytes, self.units = stripe_bytes, units
        self.read = self.written = 0
        self._reads, self._writes = self._begin(), self._begin()

    def _begin(self) -> list[int]:
        """The first address of each unit."""
        stripe, units = self.stripe_bytes, self.units
        first = self.start // stripe
        numbers = (first + (unit - first) % units for unit in range(units))
        return [max(self.start, number * stripe) if units > 1 else self.start for number in numbers]

    def _pass(self, what: str, at: list[int], address: int, length: int) -> None:
        """Goes on past a beat, which must be the next one of its unit."""
        unit = address // self.stripe_bytes % self.units
        if address != at[unit]:
            raise AssertionError(f"a {what} of {address:#x}, not of {at[unit]:#x}")
        at[unit] += length
        if at[unit] % self.stripe_bytes == 0:
            at[unit] += (self.units - 1) * self.stripe_bytes

    def get(self, address: int, length: int) -> bytes:
        """One beat that is read."""
        self._pass("read", self._reads, address, length)
        self.read += length
        return self.data(address, length)

    def put(self, address: int, data: bytes) -> None:
        """One beat that is written."""
        self._pass("write", self._writes, address, len(data))
        offset = address - self.start
        want = self.expected[offset : offset + len(data)]
        if data[: len(want)] != want:
            raise AssertionError(f"{address:#x} is given {data.hex()}, not {want.hex()}")
        self.written += len(data)


class EngineMemory(AxiRam):
    """A memory that answers some addresses with an error, and others late.

    ``rng``
        Draws how long an answer takes.
    ``blaming``
        Keeps what is raised inside, because a memory of cocotbext-axi makes an answer of it.
    ``bad``
        Maps bytes to the response of a beat that touches them; the first one of a burst of writes counts.
    ``writable``
        Says which bytes the engine may write at present.
    ``latency``
        Bounds the cycles that pass at every 256th byte.
    ``frozen``
        Holds back all answers while it is true.
    ``high``
        Multiples of :data:`SIZE` at which the memory is as well, with the same bytes.
    ``far``
        Stands for the other addresses beyond :data:`SIZE`, if anything does.
    ``first``
        Makes it a further port of that memory, which has all that is above.
    ``ports``
        The memory's ports.
    ``owns``
        Says which addresses may come to this port.
    ``see_burst``
        Called with ``ar`` or ``aw`` and the address that has come to this port.
    ``slow``, ``silent``
        Cycles that this port alone takes more at every 256th byte; that it alone holds back its answers.
    """

    def __init__(
        self,
        dut: Any,
        prefix: str,
        rng: random.Random,
        blaming: Callable[[], AbstractContextManager[None]],
        first: EngineMemory | None = None,
    ) -> None:
        super().__init__(
            AxiBus.from_prefix(dut, prefix),
            dut.aclk,
            dut.aresetn,
            reset_active_level=False,
            size=SIZE,
            mem=first.mem if first else None,
        )
        self.first = first or self
        self.ports: list[EngineMemory] = first.ports if first else []
        self.ports.append(self)
        self.owns: Callable[[int], bool] = lambda address: True
        self.see_burst: Callable[[str, Any], None] = lambda way, burst: None
        self.slow = 0
        self.silent = False
        self.clock = dut.aclk
        self.rng = rng
        self.blaming = blaming
        self.bad: dict[int, AxiResp] = {}
        self.writable = bytearray(SIZE)
        self.next = DATA
        self.latency = 0
        self.frozen = False
        self.high: set[int] = set()
        self.far: Far | None = None
        for half in (self.read_if, self.write_if):
            half.log.setLevel(logging.ERROR)
        self.read_if._read = self._read
        self.write_if._write = self._write
        # cocotbext-axi answers SLVERR whatever was raised; which error was meant is put in on the way.
        self._meant: dict[str, AxiResp | None] = {"rresp": None, "bresp": None}
        self._correct(self.read_if.r_channel, "rresp")
        self._correct(self.write_if.b_channel, "bresp")
        # It reads whole beats, of which a record may be a part: what was asked for is noted.
        self._asked = range(0)
        self._note("ar", self.read_if.ar_channel)
        self._note("aw", self.write_if.aw_channel)
        if first is None:
            self.write(0, bytes([GUARD]) * SIZE)

    def _correct(self, channel: Any, field: str) -> None:
        send = channel.send

        async def correct(answer: Any) -> None:
            if self._meant[field] is not None:
                setattr(answer, field, self._meant[field])
                self._meant[field] = None
            await send(answer)

        channel.send = correct

    def _note(self, way: str, channel: Any) -> None:
        receive = channel.recv

        async def note() -> Any:
            burst = await receive()
            with self.blaming():
                self.see_burst(way, burst)
            if way == "ar":
                start = int(burst.araddr)
                self._asked = range(start, start + (int(burst.arlen) + 1 << int(burst.arsize)))
            return burst

        channel.recv = note

    async def _wait(self, address: int) -> None:
        assert self.owns(address), f"{address:#x} is another port's"
        while self.first.frozen or self.silent:
            await RisingEdge(self.clock)
        cycles = self.rng.randint(0, self.first.latency) + self.slow if address % 256 == 0 else 0
        if cycles:
            await ClockCycles(self.clock, cycles)

    async def _read(self, address: int, length: int) -> bytes:
        await self._wait(address)
        self._refuse("rresp", max(address, self._asked.start), min(address + length, self._asked.stop))
        with self.blaming():
            at = self.first.place_of(address)
            if at >= SIZE:
                far = self.first.far
                assert far is not None, f"a read of {address:#x}, where nothing is"
                return far.get(address, length)
            return bytes(self.read(at, length))

    async def _write(self, address: int, data: bytes) -> None:
        with self.blaming():
            self._guard(address, len(data))
        await self._wait(address)
        self._refuse("bresp", address, address + len(data))
        with self.blaming():
            at = self.first.place_of(address)
            if at >= SIZE:
                far = self.first.far
                assert far is not None, f"a write to {address:#x}, where nothing is"
                far.put(address, bytes(data))
            else:
                self.write(at, bytes(data))

    def place_of(self, address: int) -> int:
        """Where in the memory an address is; an address that is nowhere in it stays as it is."""
        at = address % SIZE
        return at if address - at in self.high else address

    def _refuse(self, field: str, start: int, stop: int) -> None:
        bad = self.first.bad
        for at in range(start, stop) if bad else ():
            if at in bad:
                self._meant[field] = self._meant[field] or bad[at]
                raise _Injected

    def allow(self, address: int, length: int, allowed: bool = True) -> None:
        """Sets whether the engine may write these bytes."""
        self.writable[address : address + length] = bytes([allowed]) * length

    def _guard(self, address: int, count: int) -> None:
        """Objects to a write of bytes that may not be written."""
        first = self.first
        at = first.place_of(address)
        if at >= SIZE and first.far is not None:
            return
        allowed = first.writable[at : at + count]
        if sum(allowed) < count:
            wrong = address + (allowed.index(0) if 0 in allowed else len(allowed))
            raise AssertionError(f"a write to {wrong:#x}, which nobody allowed")

    def forget(self) -> None:
        """Forgets the answers that a reset has cut off."""
        for port in self.ports:
            port._meant = dict.fromkeys(port._meant)

    def place(self, rng: random.Random, length: int, align: int) -> int:
        """Returns an address for ``length`` bytes with guard bytes on both sides, often near a 4 KiB boundary."""
        if self.next + length + 0x3000 > SIZE:
            self.next = DATA
        self.next += 2 * 128 + rng.choice((0, 0, 64, 512, 1024))
        choice = rng.random()
        if choice < 0.3:
            self.next = (self.next | 0xFFF) + 1
        elif choice < 0.5:
            near = (self.next | 0xFFF) + 1 - align * rng.randint(1, 4)
            self.next = near if near >= self.next else near + 0x1000
        address = -(-self.next // align) * align
        self.next = address + length
        # What older transfers left here must not pass for guard bytes.
        self.write(address - 128, bytes([GUARD]) * (length + 256))
        return address
