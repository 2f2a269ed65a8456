"""A driver for the engine: rings, direct descriptors, interrupts, errors, counters, address windows.

It needs a backend with ``read32(address)`` and ``write32(address, value)`` for the registers, and a buffer of
host memory for the rings; everything else it reads from the engine itself. It imports no Amaranth. One object
drives one engine, from one thread at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from cdma.hdl.spec.counters import COUNTERS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.errors import CdmaError
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, Mode, Status
from cdma.hdl.spec.registers.map import IDENT, VERSION, record_parts, register_map
from cdma.sim.engine.descriptors import Completion, Descriptor, pack, unpack

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
    "RingMemory",
    "Status",
]

#: Offsets and field positions are the same for every engine, so any configuration serves.
_REGISTERS = register_map(EngineConfig())

How = Literal["memory", "registers", "interrupt"]


class DriverError(CdmaError):
    """The driver was asked for something that this engine, or its present state, does not allow."""


class Backend(Protocol):
    """What reaches the registers: a memory map, a simulation, a debugger."""

    def read32(self, address: int, /) -> int:
        """Reads the register at ``address`` from the engine's base."""

    def write32(self, address: int, value: int, /) -> object:
        """Writes it; a write has reached the engine when the call returns."""


@dataclass(frozen=True)
class RingMemory:
    """Host memory for the rings: ``buffer`` is what the engine finds at ``address``, which is a multiple of
    64."""

    address: int
    buffer: bytearray | memoryview


@dataclass(frozen=True)
class Geometry:
    """What an engine says about itself."""

    version: tuple[int, int]
    word_bits: int
    window: int
    code_bits: int
    table_size: int
    lanes: int
    dev_data_bits: int
    dev_address_bits: int
    dev_align: int
    host_data_bits: int
    host_address_bits: int
    host_align: int
    burst_beats: int
    outstanding: int
    ring_entries: int


@dataclass(frozen=True)
class EngineError:
    """The first error since the error registers were cleared."""

    status: Status
    tag: int
    address: int


class _Registers:
    """Registers by name, and fields by name, through a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def read(self, name: str) -> int:
        return self._backend.read32(_REGISTERS[name].address)

    def write(self, name: str, value: int) -> None:
        self._backend.write32(_REGISTERS[name].address, value)

    def write_array(self, name: str, index: int, value: int) -> None:
        self._backend.write32(_REGISTERS[f"{name}[0]"].address + 4 * index, value)

    def fields(self, name: str) -> dict[str, int]:
        value = self.read(name)
        return {field.name: field.get(value) for field in _REGISTERS[name].register.fields}

    def set(self, name: str, **fields: int) -> None:
        """Writes the named fields, and 0 to the others."""
        self.write(name, _REGISTERS[name].register.put(**fields))

    def read64(self, name: str) -> int:
        """The low half first: for a counter that latches the other."""
        low = self.read(f"{name}_low")
        return self.read(f"{name}_high") << 32 | low

    def write64(self, name: str, value: int) -> None:
        self.write(f"{name}_low", value & 0xFFFFFFFF)
        self.write(f"{name}_high", value >> 32)


class Driver:
    """One engine.

    ``idle``
        Called between two looks at memory or registers while waiting: lets a simulation go on, or sleeps.
    ``wait_irq``
        Blocks until the interrupt line is high or so many seconds have passed; needed to wait by interrupt.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        idle: Callable[[], object] = lambda: None,
        wait_irq: Callable[[float], object] | None = None,
    ) -> None:
        self.registers = _Registers(backend)
        self.idle = idle
        self.wait_irq = wait_irq
        self.geometry = self._geometry()
        self.offload = Channel(self, "offload")
        self.prefetch = Channel(self, "prefetch")

    def _geometry(self) -> Geometry:
        ident = self.registers.read("engine.ident")
        if ident != IDENT:
            raise DriverError(
                f"no engine here: the first register reads {ident:#010x} instead of {IDENT:#010x}"
            )
        version = self.registers.fields("engine.version")
        if version["major"] != VERSION[0]:
            raise DriverError(
                f"the engine has version {version['major']}.{version['minor']} of the register map; "
                "this driver knows "
                f"version {VERSION[0]}"
            )
        form = self.registers.fields("engine.stream_format")
        dev, host = (self.registers.fields(f"engine.{port}_port") for port in ("dev", "host"))
        bursts = self.registers.fields("engine.bursts")
        return Geometry(
            version=(version["major"], version["minor"]),
            **form,
            dev_data_bits=dev["data_bits"],
            dev_address_bits=dev["address_bits"],
            dev_align=1 << dev["align_log2"],
            host_data_bits=host["data_bits"],
            host_address_bits=host["address_bits"],
            host_align=1 << host["align_log2"],
            burst_beats=bursts["beats"],
            outstanding=bursts["outstanding"],
            ring_entries=1 << self.registers.fields("engine.limits")["ring_log2"],
        )

    def soft_reset(self, timeout: float = 10.0) -> None:
        """Ends everything legally and forgets all but windows and locks."""
        self.registers.set("engine.command", soft_reset=1)
        self.until(lambda: not self.registers.fields("engine.status")["resetting"], timeout, "the soft reset")
        for channel in (self.offload, self.prefetch):
            channel.forget()

    def clear_counters(self) -> None:
        """Sets all counters to 0."""
        self.registers.set("engine.command", clear_counters=1)

    def set_watchdog(self, cycles: int) -> None:
        """How long a port may leave an open transaction without an answer; 0 is for ever."""
        if not 0 <= cycles < 1 << 32:
            raise DriverError(f"the watchdog is {cycles!r} cycles; it must be 0 to {2**32 - 1}")
        self.registers.write("engine.watchdog", cycles)

    def set_window(self, port: Literal["dev", "host"], base: int, limit: int, *, lock: bool = False) -> None:
        """Allows the engine the addresses ``base`` to ``limit``, both included, on ``port`` and no others.

        Refused if it did not come out as asked: the window was locked before, or has bits that the port
        lacks."""
        if base % 4096 or (limit + 1) % 4096 or not 0 <= base < 1 << 64 or not 0 <= limit < 1 << 64:
            raise DriverError(
                f"the window of {port} is {base:#x} to {limit:#x}; it must begin and end on a boundary "
                "of 4 KiB, "
                "within 64 bits"
            )
        for half, value in (("base", base), ("limit", limit)):
            self.registers.write64(f"{port}_window.{half}", value)
        if lock:
            self.registers.set(f"{port}_window.lock", locked=1)
        actual = (self.registers.read64(f"{port}_window.base"), self.registers.read64(f"{port}_window.limit"))
        if actual != (base, limit):
            raise DriverError(
                f"the window of {port} was to be {base:#x} to {limit:#x} and is {actual[0]:#x} to "
                f"{actual[1]:#x}: it is "
                "locked, or the port has fewer address bits"
            )

    def until(self, done: Callable[[], object], timeout: float, what: str) -> None:
        """Lets time pass until ``done``."""
        end = time.monotonic() + timeout
        while not done():
            if time.monotonic() > end:
                raise DriverError(f"{what} took longer than {timeout:g} s")
            self.idle()


class Channel:
    """One direction of an engine: ``driver.offload`` or ``driver.prefetch``.

    With rings: :meth:`start`, then :meth:`submit` as often as there is room and :meth:`wait` for completions.
    Without: :meth:`start_direct`, then :meth:`push` and :meth:`wait`. Either way completions come in order.
    """

    def __init__(self, driver: Driver, name: str) -> None:
        self.driver = driver
        self.name = name
        self._registers = driver.registers
        self.forget()

    def forget(self) -> None:
        """The channel has been reset."""
        self._entries = 0
        self._tail = 0
        self._consumed = 0
        self._outstanding = 0
        self._arrived: list[Completion] = []
        self._interrupts = False

    # -- starting and stopping

    def start(
        self,
        rings: RingMemory,
        entries: int | None = None,
        *,
        halt_on_error: bool = False,
        interrupts: bool = False,
        coalesce: tuple[int, int] = (1, 0),
    ) -> None:
        """Sets up both rings in ``rings``, and enables the channel.

        ``entries``
            Of each ring: a power of two; if not given, 64 or what the engine can do.

        ``interrupts``
            Completions that want one, and errors, assert the interrupt.
        ``coalesce``
            Completions per interrupt, and clock cycles after the first of them that raise it anyway (0:
            never).
        """
        most = self.driver.geometry.ring_entries
        entries = min(64, most) if entries is None else entries
        if entries < 2 or entries > most or entries & (entries - 1):
            raise DriverError(
                f"the rings are to have {entries!r} entries; a power of two from 2 to {most} is allowed"
            )
        size = entries * RECORD_BYTES
        if (
            rings.address % RECORD_BYTES
            or not 0 <= rings.address < 1 << self.driver.geometry.host_address_bits
        ):
            raise DriverError(
                f"the rings are to be at {rings.address:#x}; a multiple of {RECORD_BYTES} is needed, within "
                f"{self.driver.geometry.host_address_bits} bits"
            )
        if len(rings.buffer) < 2 * size:
            raise DriverError(
                f"two rings of {entries} entries take {2 * size} bytes; the buffer has {len(rings.buffer)}"
            )
        self._stop()
        self._entries = entries
        memory = memoryview(rings.buffer).cast("B")
        self._descriptors, self._completions = memory[:size], memory[size : 2 * size]
        # Phase 0 everywhere: nothing of the first pass is there.
        self._completions[:] = bytes(size)
        self._registers.write(f"{self.name}.ring_size", entries.bit_length() - 1)
        self._registers.write64(f"{self.name}.ring_base", rings.address)
        self._registers.write64(f"{self.name}.completion_base", rings.address + size)
        self._registers.write(f"{self.name}.ring_tail", 0)
        self._registers.write(f"{self.name}.completion_tail", 0)
        self._set_interrupts(interrupts, coalesce)
        self._enable(ring=True, halt_on_error=halt_on_error)

    def start_direct(
        self, *, halt_on_error: bool = False, interrupts: bool = False, coalesce: tuple[int, int] = (1, 0)
    ) -> None:
        """Enables the channel without rings: descriptors and completions go through registers."""
        self._stop()
        self._entries = 0
        self._set_interrupts(interrupts, coalesce)
        self._enable(ring=False, halt_on_error=halt_on_error)

    def _stop(self) -> None:
        if self._outstanding:
            raise DriverError(
                f"{self.name} has {self._outstanding} descriptors whose completions were not taken; "
                "wait for them, or "
                "reset the engine"
            )
        self._registers.write(f"{self.name}.control", 0)
        self.driver.until(
            lambda: not self._registers.fields(f"{self.name}.status")["busy"], 10.0, f"stopping {self.name}"
        )
        self._tail = self._consumed = 0

    def _enable(self, ring: bool, halt_on_error: bool) -> None:
        self._registers.set(
            f"{self.name}.control",
            enable=1,
            halt_on_error=halt_on_error,
            ring_enable=ring,
            completion_ring_enable=ring,
        )

    def _set_interrupts(self, enable: bool, coalesce: tuple[int, int]) -> None:
        count, cycles = coalesce
        if not 0 <= count < 256 or not 0 <= cycles < 1 << 32:
            raise DriverError(
                f"coalesce is {coalesce!r}; a count of 0 to 255 and cycles of 0 to {2**32 - 1} are allowed"
            )
        self._interrupts = enable
        self._registers.write(f"{self.name}.coalesce_count", count)
        self._registers.write(f"{self.name}.coalesce_cycles", cycles)
        self._registers.set(f"{self.name}.irq_status", completion=1, error=1)
        self._registers.set(f"{self.name}.irq_enable", completion=enable, error=enable)

    def set_table(self, values: Sequence[int]) -> None:
        """The frequent values of mode fvc, lowest code first; unused entries repeat the first value."""
        geometry = self.driver.geometry
        if not 1 <= len(values) <= geometry.table_size:
            raise DriverError(f"the table has {len(values)} values; 1 to {geometry.table_size} are allowed")
        if any(not 0 <= value < 1 << geometry.word_bits for value in values):
            raise DriverError(
                f"the table is {list(values)}; its values must fit words of {geometry.word_bits} bits"
            )
        for index in range(geometry.table_size):
            value = values[index] if index < len(values) else values[0]
            self._registers.write_array(f"{self.name}.table", index, value)

    # -- descriptors and completions

    @property
    def room(self) -> int:
        """Descriptors that can be submitted now: of each, ring and completions hold one."""
        return self._entries - self._outstanding if self._entries else int(not self._pending())

    def submit(self, *descriptors: Descriptor) -> None:
        """Puts descriptors into the ring and rings the doorbell once; refused unless there is room for
        all."""
        if not self._entries:
            raise DriverError(f"{self.name} has no ring; start it with one, or push")
        if len(descriptors) > self.room:
            raise DriverError(
                f"{len(descriptors)} descriptors are too many: the ring of {self.name} "
                f"has room for {self.room}"
            )
        records = [descriptor.pack() for descriptor in descriptors]
        for record in records:
            slot = self._tail % self._entries * RECORD_BYTES
            self._descriptors[slot : slot + RECORD_BYTES] = record
            self._tail = self._next(self._tail)
        self._outstanding += len(records)
        self._registers.write(f"{self.name}.ring_tail", self._tail)

    def push(self, descriptor: Descriptor, timeout: float = 10.0) -> None:
        """Hands over a descriptor through registers, behind or without a ring."""
        if self._entries and self._outstanding >= self._entries:
            raise DriverError(f"the completion ring of {self.name} has no room")
        values = unpack(DESCRIPTOR, descriptor.pack())
        self.driver.until(lambda: not self._pending(), timeout, "the descriptor before")
        words: dict[str, int] = {}
        for part in record_parts(DESCRIPTOR, "flags"):
            bits = values[part.record.name] >> part.start & (1 << part.bits) - 1
            words[part.register] = words.get(part.register, 0) | bits << part.lsb
        for register, word in words.items():
            self._registers.write(f"push.{register}", word)
        self._outstanding += 1
        self._registers.set("push.submit", **{self.name: 1})

    def _pending(self) -> int:
        return self._registers.fields("push.status")["pending"]

    def _next(self, index: int) -> int:
        return (index + 1) % (2 * self.driver.geometry.ring_entries)

    def poll(self, how: Literal["memory", "registers"] = "memory") -> list[Completion]:
        """The completions that are there, without waiting: looked for in memory, or by the head register."""
        self._arrived += self._from_ring(how) if self._entries else self._from_registers()
        found, self._arrived = self._arrived, []
        return found

    def _from_ring(self, how: Literal["memory", "registers"]) -> list[Completion]:
        found: list[Completion] = []
        head = self._registers.read(f"{self.name}.completion_head") if how == "registers" else None
        before, lost = self._consumed, False
        while self._outstanding and not lost:
            slot = self._consumed % self._entries * RECORD_BYTES
            # The last word is written last: its phase vouches for the whole slot, which is read after it.
            phase = self._completions[slot + RECORD_BYTES - 1] >> 7
            due = 1 - (self._consumed // self._entries & 1)
            if self._consumed == head if head is not None else phase != due:
                break
            lost = phase != due
            if lost:
                # What the slot still holds would look new in the ring's next pass.
                last = slot + RECORD_BYTES - 1
                self._completions[last] = self._completions[last] & 0x7F | due << 7
            else:
                found.append(Completion.unpack(self._completions[slot : slot + RECORD_BYTES]))
            self._consumed = self._next(self._consumed)
            self._outstanding -= 1
        if self._consumed != before:
            self._registers.write(f"{self.name}.completion_tail", self._consumed)
        if lost:
            self._arrived += found
            raise DriverError(
                f"a completion of {self.name} has been written but is not in memory; error() may say why"
            )
        return found

    def _from_registers(self) -> list[Completion]:
        found = []
        while self._outstanding and self._registers.fields(f"{self.name}.status")["completion_waiting"]:
            values: dict[str, int] = {}
            for part in record_parts(COMPLETION, "result"):
                word = self._registers.read(f"{self.name}.completion_{part.register}")
                bits = word >> part.lsb & (1 << part.bits) - 1
                values[part.record.name] = values.get(part.record.name, 0) | bits << part.start
            self._registers.set(f"{self.name}.command", pop_completion=1)
            found.append(Completion.unpack(pack(COMPLETION, values)))
            self._outstanding -= 1
        return found

    def wait(self, count: int = 1, how: How = "memory", timeout: float = 10.0) -> list[Completion]:
        """At least ``count`` completions, waited for by polling memory, polling registers, or the interrupt.

        After a timeout, those that came are still there for the next call. The interrupt tells of descriptors
        that want it and of errors, and only of as many as ``coalesce`` says."""
        owed = self._outstanding + len(self._arrived)
        if count > owed:
            raise DriverError(f"{count} completions are awaited from {self.name}, which owes {owed}")
        if how == "interrupt" and (self.driver.wait_irq is None or not self._interrupts):
            raise DriverError(
                "waiting by interrupt needs a driver with wait_irq, and a channel started with interrupts"
            )
        end = time.monotonic() + timeout
        self._look(how)
        while len(self._arrived) < count:
            left = end - time.monotonic()
            if left < 0:
                raise DriverError(
                    f"{count} completions of {self.name} took longer than {timeout:g} s; "
                    f"{len(self._arrived)} came"
                )
            if how == "interrupt" and self.driver.wait_irq is not None:
                self.driver.wait_irq(left)
            else:
                self.driver.idle()
            self._look(how)
        found, self._arrived = self._arrived, []
        return found

    def _look(self, how: How) -> None:
        if how == "interrupt":
            # Cleared before the look: what comes after it asserts the interrupt again.
            cause = self._registers.read(f"{self.name}.irq_status")
            if cause:
                self._registers.write(f"{self.name}.irq_status", cause)
        self._arrived = self.poll("registers" if how == "registers" else "memory")

    def transfer(self, descriptor: Descriptor, how: How = "memory", timeout: float = 10.0) -> Completion:
        """One descriptor from submission to completion, by ring or directly, with nothing else under way."""
        if self._outstanding:
            raise DriverError(
                f"{self.name} has {self._outstanding} descriptors under way; transfer wants none"
            )
        descriptor = replace(descriptor, interrupt=descriptor.interrupt or how == "interrupt")
        if self._entries:
            self.submit(descriptor)
        else:
            self.push(descriptor)
        return self.wait(1, how, timeout)[0]

    # -- errors and counters

    @property
    def halted(self) -> bool:
        """Stopped after an error or an abort, until :meth:`resume`."""
        return bool(self._registers.fields(f"{self.name}.status")["halted"])

    def resume(self) -> None:
        """Goes on after a halt."""
        self._registers.set(f"{self.name}.command", resume=1)

    def abort(self, timeout: float = 10.0) -> None:
        """Ends what is under way with the status ``ABORTED``; the channel then stands until
        :meth:`resume`."""
        self._registers.set(f"{self.name}.command", abort_now=1)
        self.driver.until(
            lambda: not self._registers.fields(f"{self.name}.status")["aborting"],
            timeout,
            f"aborting {self.name}",
        )

    def error(self) -> EngineError | None:
        """The first error since the last :meth:`clear_error`, if any."""
        fields = self._registers.fields(f"{self.name}.error")
        if not fields["valid"]:
            return None
        tag = self._registers.read(f"{self.name}.error_tag")
        return EngineError(
            Status(fields["status"]), tag, self._registers.read64(f"{self.name}.error_address")
        )

    def clear_error(self) -> None:
        """Empties the error registers."""
        self._registers.set(f"{self.name}.command", clear_error=1)

    def counters(self, timeout: float = 1.0) -> dict[str, int]:
        """All counters by name, as of one moment; they go on counting meanwhile."""
        hold = f"{self.name}.counter_hold"
        # Version 1.0 of the register map could not hold them.
        can_hold = self.driver.geometry.version >= (1, 1)
        if can_hold:
            self._registers.set(hold, hold=1)
            self.driver.until(lambda: self._registers.fields(hold)["held"], timeout, "the counters")
        try:
            return {name: self._registers.read64(f"{self.name}_counters.{name}") for name, _ in COUNTERS}
        finally:
            if can_hold:
                self._registers.set(hold, hold=0)
