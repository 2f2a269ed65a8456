"""Memories on the channels of cocotbext-axi, which answer late, in another order across IDs, and with errors; at one port
or at several."""

from __future__ import annotations

import logging
import random
from collections import deque
from collections.abc import Iterator
from typing import Any

from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiResp
from cocotbext.axi.axi_slave import AxiSlaveRead, AxiSlaveWrite

_PAGE = 4096


class Memory:
    """A memory of all addresses. With several ports they have them in turn, ``stripe`` bytes each.

    ``latency``
        Bounds the cycles from a request to its answer; each answer draws its own.
    ``errors``
        Maps ranges of bytes to the response of a beat that touches them.
    ``allowed``
        The ranges that may be written.
    ``frozen``
        Which IDs are not answered: reads and writes.
    """

    def __init__(
        self, dut: Any, prefixes: list[str], rng: random.Random, fill: int, clock: Any, reset: Any
    ) -> None:
        self.rng = rng
        self.clock = clock
        self.fill = fill
        self.pages: dict[int, bytearray] = {}
        self.latency = 0
        self.errors: list[tuple[range, AxiResp]] = []
        self.allowed: list[range] = []
        self.frozen: tuple[set[int], set[int]] = (set(), set())
        self.faults: list[str] = []
        self.stripe = 0
        logging.getLogger("cocotb").setLevel(logging.WARNING)
        self.readers: list[_Reader] = []
        self.writers: list[_Writer] = []
        for port, prefix in enumerate(prefixes):
            bus = AxiBus.from_prefix(dut, prefix)
            options = {"reset_active_level": False, "memory": self, "port": port}
            self.readers.append(_Reader(bus.read, clock, reset, **options))
            self.writers.append(_Writer(bus.write, clock, reset, **options))
        self.bytes = self.readers[0].byte_lanes

    def channels(self) -> list[Any]:
        """What may pause."""
        reading = [channel for each in self.readers for channel in (each.ar_channel, each.r_channel)]
        return reading + [
            channel for each in self.writers for channel in (each.aw_channel, each.w_channel, each.b_channel)
        ]

    def visit(self, port: int, address: int) -> None:
        """Objects to a beat at a port that does not have the address."""
        ports = len(self.readers)
        if ports > 1 and address // self.stripe % ports != port:
            self.faults.append(f"{address:#x} at port {port} of {ports}")

    def _parts(self, address: int, length: int) -> Iterator[tuple[bytearray, slice]]:
        while length:
            page, start = divmod(address, _PAGE)
            part = min(length, _PAGE - start)
            yield self.pages.setdefault(page, bytearray([self.fill]) * _PAGE), slice(start, start + part)
            address, length = address + part, length - part

    def load(self, address: int, length: int) -> bytes:
        """What lies there."""
        return b"".join(bytes(page[part]) for page, part in self._parts(address, length))

    def store(self, address: int, data: bytes) -> None:
        """Puts data there."""
        for page, part in self._parts(address, len(data)):
            size = part.stop - part.start
            page[part], data = data[:size], data[size:]

    def response(self, start: int, stop: int) -> AxiResp:
        """How a beat that touches these bytes is answered."""
        for bad, response in self.errors:
            if start < bad.stop and bad.start < stop:
                return response
        return AxiResp.OKAY

    def put(self, address: int, data: int, strobes: int) -> None:
        """One beat that the engine writes; ``address`` is that of lane 0."""
        for lane in range(self.bytes):
            if strobes >> lane & 1:
                at = address + lane
                if not any(at in each for each in self.allowed):
                    self.faults.append(f"a write to {at:#x}, which nobody allowed")
                self.store(at, bytes([data >> 8 * lane & 0xFF]))

    def due(self) -> int:
        """Draws the cycles that an answer takes."""
        return self.rng.randint(0, self.latency) if self.latency else 0


class _Reader(AxiSlaveRead):  # type: ignore[misc]
    """Takes requests at once, and sends a beat of any ID that has one due, so that bursts of two IDs mix."""

    def __init__(self, *args: Any, memory: Memory, port: int, **options: Any) -> None:
        self.memory, self.port = memory, port
        super().__init__(*args, **options)
        self.ar_channel.queue_occupancy_limit = -1
        self.log.setLevel(logging.ERROR)

    async def _process_read(self) -> None:
        memory, clock = self.memory, self.memory.clock
        queues: dict[int, deque[list[int]]] = {}
        while True:
            while not self.ar_channel.empty():
                ar = self.ar_channel.recv_nowait()
                burst = [memory.due(), int(ar.araddr), int(ar.arlen) + 1, 1 << int(ar.arsize)]
                queues.setdefault(int(ar.arid), deque()).append(burst)
            for queue in queues.values():
                for burst in queue:
                    burst[0] = max(0, burst[0] - 1)
            due = [
                id_
                for id_, queue in queues.items()
                if queue and not queue[0][0] and id_ not in memory.frozen[0]
            ]
            if not due or self.r_channel.full():
                await RisingEdge(clock)
                continue
            id_ = memory.rng.choice(due)
            burst = queues[id_][0]
            r = self.r_channel._transaction_obj()
            base = burst[1] // memory.bytes * memory.bytes
            memory.visit(self.port, base)
            r.rid, r.rlast = id_, burst[2] == 1
            r.rresp = memory.response(burst[1], burst[1] // burst[3] * burst[3] + burst[3])
            r.rdata = int.from_bytes(memory.load(base, memory.bytes), "little")
            burst[1] = burst[1] // burst[3] * burst[3] + burst[3]
            burst[2] -= 1
            if not burst[2]:
                queues[id_].popleft()
            await self.r_channel.send(r)
            await RisingEdge(clock)


class _Writer(AxiSlaveWrite):  # type: ignore[misc]
    """Takes requests and data at once, and answers any ID that has an answer due."""

    def __init__(self, *args: Any, memory: Memory, port: int, **options: Any) -> None:
        self.memory, self.port = memory, port
        super().__init__(*args, **options)
        self.aw_channel.queue_occupancy_limit = -1
        self.w_channel.queue_occupancy_limit = -1
        self.log.setLevel(logging.ERROR)

    async def _process_write(self) -> None:
        memory, clock = self.memory, self.memory.clock
        asked: deque[list[int]] = deque()
        queues: dict[int, deque[list[Any]]] = {}
        response = AxiResp.OKAY
        while True:
            while not self.aw_channel.empty():
                aw = self.aw_channel.recv_nowait()
                asked.append([int(aw.awid), int(aw.awaddr), 1 << int(aw.awsize)])
            while asked and not self.w_channel.empty():
                w = self.w_channel.recv_nowait()
                id_, address, size = asked[0]
                stop = address // size * size + size
                answer = memory.response(address, stop)
                response = response if response != AxiResp.OKAY else answer
                memory.visit(self.port, address)
                if answer == AxiResp.OKAY:
                    memory.put(address // memory.bytes * memory.bytes, int(w.wdata), int(w.wstrb))
                asked[0][1] = stop
                if int(w.wlast):
                    asked.popleft()
                    queues.setdefault(id_, deque()).append([memory.due(), response])
                    response = AxiResp.OKAY
            for queue in queues.values():
                for entry in queue:
                    entry[0] = max(0, entry[0] - 1)
            due = [
                id_
                for id_, queue in queues.items()
                if queue and not queue[0][0] and id_ not in memory.frozen[1]
            ]
            if not due or self.b_channel.full():
                await RisingEdge(clock)
                continue
            b = self.b_channel._transaction_obj()
            b.bid = memory.rng.choice(due)
            b.bresp = queues[b.bid].popleft()[1]
            await self.b_channel.send(b)
            await RisingEdge(clock)
