"""A driver of the engine, as ``docs/engine.md``, ``docs/options/`` and the register document make one write it."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiProt

from .clocks import Clocks
from .document import Document
from .memory import Memory

RECORD = 64
#: Privileged and secure.
_PROT = AxiProt.PRIVILEGED


class Driver:
    """Registers by their names in the document."""

    def __init__(self, dut: Any, document: Document, clocks: Clocks) -> None:
        self.document = document
        self.slowest = clocks.slowest
        self.base = 0
        self.bus = AxiLiteMaster(
            AxiLiteBus.from_prefix(dut, "s_axil"), *clocks.of("s_axil"), reset_active_level=False
        )
        for half in (self.bus.read_if, self.bus.write_if):
            half.log.setLevel(logging.ERROR)

    def of_page(self, base: int) -> Driver:
        """The same for registers that begin at ``base``."""
        found = copy.copy(self)
        found.base = base
        return found

    def channels(self) -> list[Any]:
        """What may pause."""
        read, write = self.bus.read_if, self.bus.write_if
        return [read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel]

    async def write(self, name: str, **fields: int) -> None:
        """Writes a register, and zeros where no field is given."""
        address, layout = self.document.registers[name]
        answer = await self.bus.write(
            self.base + address, layout.pack(fields).to_bytes(4, "little"), prot=_PROT
        )
        assert answer.resp == 0, f"a write to {name} was answered {answer.resp}"

    async def read(self, name: str) -> dict[str, int]:
        """The fields of a register."""
        address, layout = self.document.registers[name]
        answer = await self.bus.read(self.base + address, 4, prot=_PROT)
        assert answer.resp == 0, f"a read of {name} was answered {answer.resp}"
        return layout.unpack(int.from_bytes(answer.data, "little"))

    async def write64(self, name: str, value: int) -> None:
        """Writes both halves of an address or number; the field of the low one may leave out its low bits, which may read
        as ones."""
        fields = self.document.registers[f"{name}_low"][1].fields
        field, (lsb, _) = max(fields.items(), key=lambda item: item[1])
        await self.write(f"{name}_low", **{field: (value & 0xFFFFFFFF) >> lsb})
        await self.write(f"{name}_high", value=value >> 32)

    async def counter(self, channel: str, name: str) -> int:
        """A counter of a channel: the low half first."""
        low = (await self.read(f"{channel}_counters.{name}_low"))["value"]
        return (await self.read(f"{channel}_counters.{name}_high"))["value"] << 32 | low

    async def error(self, channel: str) -> tuple[str, int, int]:
        """Status, address and tag of the first error, which is then cleared."""
        await self.until(f"{channel}.error", "valid", 1)
        status = self.document.status[(await self.read(f"{channel}.error"))["status"]]
        low = (await self.read(f"{channel}.error_address_low"))["value"]
        high = (await self.read(f"{channel}.error_address_high"))["value"]
        tag = (await self.read(f"{channel}.error_tag"))["value"]
        await self.write(f"{channel}.command", clear_error=1)
        assert not (await self.read(f"{channel}.error"))["valid"]
        return status, high << 32 | low, tag

    async def push(self, channel: str, descriptor: Mapping[str, Any]) -> None:
        """Hands a descriptor over through registers, which lie as in memory."""
        await self.until("push.status", "pending", 0)
        with_crc = (await self.read("engine.limits"))["crc"]
        said = dict(descriptor)
        if (extension := said.pop("extension", None)) is not None:
            await self._put_shape(extension)
        number = self.document.records["descriptor"].pack(said)
        base = self.document.registers["push.source_low"][0]
        for name, (address, layout) in self.document.registers.items():
            if name == "push.crc" and not with_crc:
                continue
            if name.startswith("push.") and address < base + RECORD:
                word = number >> 8 * (address - base) & 0xFFFFFFFF
                await self.write(name, **layout.unpack(word))
        await self.write("push.submit", **{channel: 1})

    async def _put_shape(self, extension: Mapping[str, int]) -> None:
        """Writes the registers of the shape, which lie as the extension in memory."""
        number = self.document.records["extension"].pack(extension)
        base = self.document.registers["shape.stride_1_low"][0]
        for name, (address, layout) in self.document.registers.items():
            if name.startswith("shape."):
                await self.write(name, **layout.unpack(number >> 8 * (address - base) & 0xFFFFFFFF))

    async def pop(self, channel: str) -> dict[str, int]:
        """Takes the completion in the registers, which lie as in memory."""
        number, base = 0, self.document.registers[f"{channel}.completion_tag"][0]
        limits = await self.read("engine.limits")
        absent = [] if limits["crc"] else ["crc"]
        absent += [] if limits["lossy"] else ["range_count", "range_first"]
        for name, (address, layout) in self.document.registers.items():
            if name.removeprefix(f"{channel}.completion_") in absent:
                continue
            if name.startswith(f"{channel}.completion_") and base <= address < base + RECORD:
                number |= layout.pack(await self.read(name)) << 8 * (address - base)
        await self.write(f"{channel}.command", pop_completion=1)
        return self.document.records["completion"].unpack(number)

    async def until(self, name: str, field: str, value: int, limit: int = 3000) -> None:
        """Reads a register until one of its fields has a value."""
        for _ in range(limit):
            if (await self.read(name))[field] == value:
                return
        raise AssertionError(f"{name}.{field} did not become {value}")


class Channel:
    """One channel with its rings in host memory.

    ``table``
        What is in the channel's table.
    """

    def __init__(
        self, driver: Driver, host: Memory, name: str, base: int, log2: int, index_log2: int
    ) -> None:
        self.driver, self.host, self.name = driver, host, name
        self.descriptors, self.completions = base, base + (RECORD << log2)
        self.log2, self.entries = log2, 1 << log2
        #: Indexes run modulo twice the largest ring.
        self.wrap = 2 << index_log2
        self.tail = self.head = 0
        host.allowed.append(range(self.completions, self.completions + RECORD * self.entries))

    async def start(self, **control: int) -> None:
        """Sets both rings up, empty, and enables the channel."""
        driver, name = self.driver, self.name
        self.tail = self.head = 0
        self.host.store(self.completions, bytes(RECORD * self.entries))
        await driver.write(f"{name}.ring_size", log2=self.log2)
        await driver.write64(f"{name}.ring_base", self.descriptors)
        await driver.write64(f"{name}.completion_base", self.completions)
        await driver.write(f"{name}.ring_tail", value=0)
        await driver.write(f"{name}.completion_tail", value=0)
        await driver.write(f"{name}.control", enable=1, ring_enable=1, completion_ring_enable=1, **control)

    async def stop(self) -> None:
        """Disables the channel and its rings, and waits until it is idle."""
        await self.driver.write(f"{self.name}.control")
        await self.driver.until(f"{self.name}.status", "busy", 0)

    async def submit(self, descriptors: Sequence[Mapping[str, Any]]) -> None:
        """Puts descriptors into the ring, those with a shape with their extensions, and rings the doorbell once."""
        for descriptor in descriptors:
            self._put(
                "descriptor", {name: value for name, value in descriptor.items() if name != "extension"}
            )
            if "extension" in descriptor:
                self._put("extension", descriptor["extension"])
        await self.driver.write(f"{self.name}.ring_tail", value=self.tail)

    def _put(self, record: str, values: Mapping[str, int]) -> None:
        """Puts a record into the next entry of the ring."""
        at = self.descriptors + self.tail % self.entries * RECORD
        layout = self.driver.document.records[record]
        self.host.store(at, layout.pack(values).to_bytes(RECORD, "little"))
        self.tail = (self.tail + 1) % self.wrap

    def peek(self, ahead: int = 0) -> dict[str, int] | None:
        """The next completion, or one after it, if it is in memory."""
        index = (self.head + ahead) % self.wrap
        at = self.completions + index % self.entries * RECORD
        layout = self.driver.document.records["completion"]
        found = layout.unpack(int.from_bytes(self.host.load(at, RECORD), "little"))
        return found if found["phase"] == 1 - index // self.entries % 2 else None

    async def take(self, limit: int = 40000) -> dict[str, int]:
        """Waits for the next completion, and gives its slot back."""
        for _ in range(limit // 8):
            if (found := self.peek()) is not None:
                self.head = (self.head + 1) % self.wrap
                await self.driver.write(f"{self.name}.completion_tail", value=self.head)
                return found
            await ClockCycles(self.driver.slowest, 8)
        raise AssertionError(f"{self.name}: no completion after {limit} cycles")

    async def pass_over(self) -> None:
        """Gives back the slot of a completion that memory does not show, and marks it as old for the next pass."""
        index = self.head
        at = self.completions + index % self.entries * RECORD
        layout = self.driver.document.records["completion"]
        record = layout.unpack(int.from_bytes(self.host.load(at, RECORD), "little"))
        record["phase"] = 1 - index // self.entries % 2
        self.host.store(at, layout.pack(record).to_bytes(RECORD, "little"))
        self.head = (index + 1) % self.wrap
        await self.driver.write(f"{self.name}.completion_tail", value=self.head)
