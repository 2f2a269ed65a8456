"""One channel of an engine: descriptors in, completions out, interrupts, errors and counters."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, Protocol

from cdma.hdl.spec.engine import LOSSY
from cdma.hdl.spec.options import (
    AXCACHE,
    BANK_LOG2,
    COUNTERS,
    LEVEL_BITS,
    LIMIT_BITS,
    NOBODY,
    PERIOD_BITS,
    SIDEBAND_POSITIONS,
    SIDEBAND_TARGETS,
    WEIGHT_BITS,
    Owner,
    owner_mask,
)
from cdma.hdl.spec.records import RECORD_BYTES, Status
from cdma.hdl.spec.shape import Shape
from cdma.sim.engine.memory import Completion, Descriptor

from .rings import (
    DriverError,
    EngineError,
    Geometry,
    Registers,
    RingMemory,
    Rings,
    push_pending,
    read_completion,
    write_descriptor,
)

How = Literal["memory", "registers", "interrupt"]


class _Engine(Protocol):
    """What a channel needs of the driver that it belongs to."""

    registers: Registers
    geometry: Geometry
    idle: Callable[[], object]
    wait_irq: Callable[[float], object] | None

    def until(self, done: Callable[[], object], timeout: float, what: str) -> None: ...


class Channel:
    """One direction of an engine: ``driver.offload`` or ``driver.prefetch``.

    With rings: :meth:`start`, then :meth:`submit` while there is :attr:`room`, and :meth:`wait` for completions.
    Without: :meth:`start_direct`, then :meth:`push` and :meth:`wait`. Either way completions come in order.
    """

    def __init__(self, driver: _Engine, name: str) -> None:
        self.driver = driver
        self.name = name
        self._registers = driver.registers
        self.forget()

    def forget(self) -> None:
        """Starts from the state after a reset."""
        self._rings: Rings | None = None
        #: Descriptors handed over whose completions have not been taken: the entries of the ring that each has.
        self._sizes: list[int] = []
        self._arrived: list[Completion] = []
        self._interrupts = False

    @property
    def _outstanding(self) -> int:
        return len(self._sizes)

    def _retire(self, count: int) -> None:
        """Counts completions that are read. A pushed descriptor may have overtaken others, so those with the fewest
        entries count first: no entry is thought free that is not."""
        self._sizes = sorted(self._sizes, reverse=True)[: self._outstanding - count]

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

        ``entries``: Entries of each ring: a power of two, by default 64 or as many as the engine has.
        ``interrupts``: Whether errors, and completions that ask for it, assert the interrupt.
        ``coalesce``: Completions per interrupt, and clock cycles after the first of them that assert it in any case (0:
            never).
        """
        both = Rings(rings, entries, self.driver.geometry)
        self._check_window(both)
        self._stop()
        both.clear()
        self._rings = both
        self._registers.write(f"{self.name}.ring_size", both.entries.bit_length() - 1)
        self._registers.write64(f"{self.name}.ring_base", both.base)
        self._registers.write64(f"{self.name}.completion_base", both.completion_base)
        self._registers.write(f"{self.name}.ring_tail", 0)
        self._registers.write(f"{self.name}.completion_tail", 0)
        self._set_interrupts(interrupts, coalesce)
        self._enable(ring=True, halt_on_error=halt_on_error)

    def _check_window(self, rings: Rings) -> None:
        """Refuses rings that the engine may not touch: it could not even report that it has refused their descriptors."""
        base, limit = (self._registers.read64(f"host_window.{edge}") for edge in ("base", "limit"))
        if rings.base < base or rings.end - 1 > limit:
            raise DriverError(
                f"the rings of {self.name} are at {rings.base:#x} to {rings.end - 1:#x}, and the window of host memory is "
                f"{base:#x} to {limit:#x}; open it, windows are closed after a reset"
            )

    def start_direct(
        self, *, halt_on_error: bool = False, interrupts: bool = False, coalesce: tuple[int, int] = (1, 0)
    ) -> None:
        """Enables the channel without rings: descriptors and completions go through registers."""
        self._stop()
        self._rings = None
        self._set_interrupts(interrupts, coalesce)
        self._enable(ring=False, halt_on_error=halt_on_error)

    def _stop(self) -> None:
        if self._outstanding:
            raise DriverError(
                f"{self.name} has {self._outstanding} descriptors whose completions were not taken; "
                "wait for them, or reset the engine"
            )
        self._registers.write(f"{self.name}.control", 0)
        self.driver.until(
            lambda: not self._registers.fields(f"{self.name}.status")["busy"], 10.0, f"stopping {self.name}"
        )

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
        """Writes the frequent values of mode fvc, lowest code first; unused entries repeat the first value.

        A reset of the engine, :meth:`.Driver.soft_reset` too, makes all of them the first of the format's values.
        """
        geometry = self.driver.geometry
        if not 1 <= len(values) <= geometry.table_size:
            raise DriverError(f"the table has {len(values)} values; 1 to {geometry.table_size} are allowed")
        what = "fields" if geometry.field_bits else "words"
        if any(not 0 <= value < 1 << geometry.entry_bits for value in values):
            raise DriverError(
                f"the table is {list(values)}; its values must fit {what} of {geometry.entry_bits} bits"
            )
        for index in range(geometry.table_size):
            value = values[index] if index < len(values) else values[0]
            self._registers.write_array(f"{self.name}.table", index, value)

    def set_sideband(
        self, target: str, *, cache: int = 0b0011, prot: int = 0, qos: int = 0, user: int = 0
    ) -> None:
        """Sets AxCACHE, AxPROT, AxQOS and AxUSER of the channel's transactions with ``"dev"`` memory, with ``"host"`` memory
        or for its rings (``"ring"``). It holds from when the channel is next at rest."""
        geometry = self.driver.geometry
        if not geometry.sideband:
            raise DriverError(
                "the channel cannot change its sideband; the engine has no registers for it (sideband_registers)"
            )
        if target not in SIDEBAND_TARGETS:
            raise DriverError(f"target is {target!r}; it must be one of {', '.join(SIDEBAND_TARGETS)}")
        if cache not in AXCACHE:
            raise DriverError(
                f"cache is {cache}; {', '.join(map(str, AXCACHE))} are allowed, AXI4 reserves the others"
            )
        for name, value, bits in (("prot", prot, 3), ("qos", qos, 4), ("user", user, geometry.user_bits)):
            if not 0 <= value < 1 << bits:
                raise DriverError(f"{name} is {value}; 0 to {(1 << bits) - 1} are allowed")
        fields = {"cache": cache, "prot": prot, "qos": qos, "user": user}
        word = sum(value << SIDEBAND_POSITIONS[name] for name, value in fields.items())
        self._registers.write(f"{self.name}.{target}_sideband", word)

    def set_owners(
        self, allowed: Owner = NOBODY, mask: int = 0xFFFF_FFFF, *, ring: Owner = NOBODY, lock: bool = False
    ) -> None:
        """Allows the channel transfers whose owner is ``allowed`` in the bits of ``mask``, which lie as in
        :attr:`.Owner.word`; its rings and lists of pages are those of ``ring``, from when it is next at rest.

        Raises :class:`DriverError` if something else is allowed afterwards: it was locked.
        """
        has = owner_mask(self._owner_fields())
        words = {"value": allowed.word, "mask": mask & has, "ring": ring.word}
        self._check_owner(allowed)
        self._check_owner(ring)
        for name, word in words.items():
            self._registers.write(f"{self.name}_owner.{name}", word)
        if lock:
            self._registers.set(f"{self.name}_owner.lock", locked=1)
        actual = {name: self._registers.read(f"{self.name}_owner.{name}") for name in words}
        if actual != words:
            raise DriverError(
                f"the owners of {self.name} were to be {words} and are {actual}: they are locked"
            )

    def _owner_fields(self) -> dict[str, tuple[int, int]]:
        fields = self.driver.geometry.records.owner_fields
        if not fields:
            raise DriverError("the engine knows no owners (stream_id_bits, substream_id_bits)")
        return fields

    def _check_owner(self, owner: Owner) -> None:
        if owner.word & ~owner_mask(self._owner_fields()):
            geometry = self.driver.geometry
            raise DriverError(
                f"the owner is {owner}; the engine has {geometry.stream_id_bits} bits of a stream and "
                f"{geometry.substream_id_bits} of a substream"
            )

    def set_message(self, address: int, data: int, *, enable: bool = True) -> None:
        """Has the channel's interrupt written as well: the word ``data`` to ``address``, once for each event.

        Raises :class:`DriverError` if it is another one afterwards: the window of host memory is locked.
        """
        geometry = self.driver.geometry
        if not geometry.messages:
            raise DriverError("the engine writes no interrupts (msi)")
        if address % 4 or not 0 <= address < 1 << geometry.host_address_bits:
            raise DriverError(
                f"the message is for {address:#x}; a multiple of 4 of {geometry.host_address_bits} bits is needed"
            )
        if not 0 <= data < 1 << 32:
            raise DriverError(f"the message is {data}; 0 to {2**32 - 1} are allowed")
        block, registers = f"{self.name}_message", self._registers
        # No message goes to half of an address.
        registers.set(f"{block}.control", enable=0)
        registers.write64(f"{block}.address", address)
        registers.write(f"{block}.data", data)
        registers.set(f"{block}.control", enable=enable)
        actual = tuple(registers.read(f"{block}.{name}") for name in ("data", "control"))
        if (registers.read64(f"{block}.address"), *actual) != (address, data, enable):
            raise DriverError(
                f"the message of {self.name} is another one: the window of host memory is locked"
            )

    def message_failed(self) -> bool:
        """Whether a message was answered with an error since the last call."""
        if not self.driver.geometry.messages:
            raise DriverError("the engine writes no interrupts (msi)")
        failed = bool(self._registers.fields(f"{self.name}_message.status")["failed"])
        self._registers.set(f"{self.name}_message.status", failed=failed)
        return failed

    def set_share(self, pair: int, *, weight: int = 1, priority: int = 0) -> None:
        """Gives a queue pair turns of ``weight`` times 4 KiB in this direction; pairs of a higher ``priority`` go first."""
        for name, value, least, bits in (
            ("weight", weight, 1, WEIGHT_BITS),
            ("priority", priority, 0, LEVEL_BITS),
        ):
            if not least <= value < 1 << bits:
                raise DriverError(f"{name} is {value}; {least} to {(1 << bits) - 1} are allowed")
        self._set_of_pair("share", pair, weight | priority << WEIGHT_BITS)

    def set_limit(self, pair: int, units: int) -> None:
        """Lets a pair move no more than so many units of 256 raw bytes in each period, in the mean; 0: any number."""
        if not 0 <= units < 1 << LIMIT_BITS:
            raise DriverError(f"units is {units}; 0 to {(1 << LIMIT_BITS) - 1} are allowed")
        self._set_of_pair("limit", pair, units)

    def set_limit_period(self, cycles: int) -> None:
        """Sets the period of the limits of all pairs in this direction."""
        self._check_pair(0)
        if not 1 <= cycles < 1 << PERIOD_BITS:
            raise DriverError(f"the period is {cycles} cycles; 1 to {(1 << PERIOD_BITS) - 1} are allowed")
        self._registers.write(f"{self.name}_shares.period", cycles)

    def _set_of_pair(self, register: str, pair: int, value: int) -> None:
        self._check_pair(pair)
        bank, index = divmod(pair, 1 << BANK_LOG2)
        if self.driver.geometry.pairs > 1 << BANK_LOG2:
            self._registers.write(f"{self.name}_shares.bank", bank)
        self._registers.write_array(f"{self.name}_shares.{register}", index, value)

    def _check_pair(self, pair: int) -> None:
        pairs = self.driver.geometry.pairs
        if pairs == 1 or self._registers.base:
            raise DriverError("shares are set with the first of several queue pairs (channels)")
        if not 0 <= pair < pairs:
            raise DriverError(f"pair is {pair}; the engine has {pairs}, counted from 0")

    # -- descriptors and completions

    @property
    def room(self) -> int:
        """Descriptors that can be submitted now; each uses an entry of both rings until its completion is read, or two
        with a shape."""
        if self._rings is None:
            return int(not push_pending(self._registers))
        return self._rings.entries - sum(self._sizes)

    def submit(self, *descriptors: Descriptor) -> None:
        """Puts descriptors into the ring and rings the doorbell once; refuses them unless all of them fit."""
        if self._rings is None:
            raise DriverError(f"{self.name} has no ring; start it with one, or push")
        self._check_options(*descriptors)
        packed = [descriptor.pack() for descriptor in descriptors]
        sizes = [len(record) // RECORD_BYTES for record in packed]
        if sum(sizes) > self.room:
            shaped = ", of which those with a shape take two entries," if sum(sizes) > len(sizes) else ""
            raise DriverError(
                f"{len(sizes)} descriptors{shaped} are too many: the ring of {self.name} has room for {self.room}"
            )
        raw = b"".join(packed)
        self._rings.put([raw[start : start + RECORD_BYTES] for start in range(0, len(raw), RECORD_BYTES)])
        self._sizes += sizes
        self._registers.write(f"{self.name}.ring_tail", self._rings.tail)

    def _check_options(self, *descriptors: Descriptor) -> None:
        """Refuses descriptors with a CRC, a step, a shape, pages, a base or an owner that the engine cannot have."""
        if not self.driver.geometry.delta and any(each.delta for each in descriptors):
            raise DriverError("a descriptor has a base; this engine has been made without (delta)")
        if self.driver.geometry.lossy == LOSSY[0] and any(each.step for each in descriptors):
            raise DriverError("a descriptor has a step; this engine has been made without (lossy)")
        if not self.driver.geometry.crc and any(each.check_crc or each.crc for each in descriptors):
            raise DriverError("a descriptor has a CRC to check; this engine has been made without (crc)")
        if not self.driver.geometry.pages and any(each.pages for each in descriptors):
            raise DriverError("a descriptor has a list of pages; this engine has been made without (pages)")
        for descriptor in descriptors:
            if descriptor.owner is not None:
                self._check_owner(descriptor.owner)
            if descriptor.shape is not None:
                self._check_shape(descriptor.shape, descriptor.length)

    def _check_shape(self, shape: Shape, length: int) -> None:
        """Refuses a shape that this engine cannot move, and says why."""
        geometry = self.driver.geometry
        if not geometry.dimensions:
            raise DriverError("a descriptor has a shape; this engine has been made without (dimensions)")
        if length != shape.length:
            raise DriverError(f"the length is {length}; the shape has {shape.length} bytes, padding included")
        why = shape.objection(
            align=geometry.dev_align, dimensions=geometry.dimensions, writes=self.name == "prefetch"
        )
        if why:
            raise DriverError(f"the shape cannot be moved: {why}")

    def push(self, descriptor: Descriptor, timeout: float = 10.0) -> None:
        """Hands over a descriptor through registers; with rings, it goes ahead of what waits in them."""
        self._check_options(descriptor)
        if self._rings is not None and sum(self._sizes) >= self._rings.entries:
            raise DriverError(f"the completion ring of {self.name} has no room")
        self.driver.until(lambda: not push_pending(self._registers), timeout, "the descriptor before")
        self._sizes.append(1)
        write_descriptor(self._registers, self.name, descriptor, self.driver.geometry.records)

    def poll(self, how: Literal["memory", "registers"] = "memory") -> list[Completion]:
        """Takes the completions that have arrived, without waiting.

        With rings they are looked for in memory, or, with ``"registers"``, by the engine's head register.
        """
        self._arrived += self._from_registers() if self._rings is None else self._from_rings(self._rings, how)
        found, self._arrived = self._arrived, []
        return found

    def _from_rings(self, rings: Rings, how: Literal["memory", "registers"]) -> list[Completion]:
        head = self._registers.read(f"{self.name}.completion_head") if how == "registers" else None
        found, lost = rings.take(self._outstanding, head)
        self._retire(len(found) + lost)
        if found or lost:
            self._registers.write(f"{self.name}.completion_tail", rings.completion_tail)
        if lost:
            self._arrived += found
            raise DriverError(
                f"a completion of {self.name} has been written but is not in memory; error() may say why"
            )
        return found

    def _from_registers(self) -> list[Completion]:
        found = []
        while self._outstanding and (
            completion := read_completion(self._registers, self.name, self.driver.geometry.records)
        ):
            found.append(completion)
            self._retire(1)
        return found

    def wait(self, count: int = 1, how: How = "memory", timeout: float = 10.0) -> list[Completion]:
        """Waits for at least ``count`` completions, polling memory, polling registers, or by the interrupt.

        After a timeout, the next call returns those that have arrived. The interrupt is asserted for errors and for
        descriptors that ask for it, as ``coalesce`` says.
        """
        pending = self._outstanding + len(self._arrived)
        if count > pending:
            raise DriverError(f"{count} completions are awaited from {self.name}, which owes {pending}")
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
            # It is cleared before the look, so that a later completion asserts the interrupt again.
            cause = self._registers.read(f"{self.name}.irq_status")
            if cause:
                self._registers.write(f"{self.name}.irq_status", cause)
        self._arrived = self.poll("registers" if how == "registers" else "memory")

    def transfer(self, descriptor: Descriptor, how: How = "memory", timeout: float = 10.0) -> Completion:
        """Carries out one descriptor, by ring or directly, with no other one in flight."""
        if self._outstanding:
            raise DriverError(
                f"{self.name} has {self._outstanding} descriptors in flight; a transfer needs none"
            )
        descriptor = replace(descriptor, interrupt=descriptor.interrupt or how == "interrupt")
        if self._rings is None:
            self.push(descriptor)
        else:
            self.submit(descriptor)
        return self.wait(1, how, timeout)[0]

    # -- errors and counters

    @property
    def halted(self) -> bool:
        """Whether the channel has stopped after an error or an abort, until :meth:`resume`."""
        return bool(self._registers.fields(f"{self.name}.status")["halted"])

    def resume(self) -> None:
        """Continues after a halt."""
        self._registers.set(f"{self.name}.command", resume=1)

    def abort(self, timeout: float = 10.0) -> None:
        """Ends what is in flight with the status ``ABORTED``; the channel is then halted until :meth:`resume`."""
        self._registers.set(f"{self.name}.command", abort_now=1)
        self.driver.until(self._abort_is_done, timeout, f"aborting {self.name}")

    def _abort_is_done(self) -> bool:
        """Without rings the engine waits until its completions are taken."""
        if self._rings is None:
            self._arrived += self._from_registers()
        return not self._registers.fields(f"{self.name}.status")["aborting"]

    def error(self) -> EngineError | None:
        """Returns the first error since the last :meth:`clear_error`, if there was one."""
        fields = self._registers.fields(f"{self.name}.error")
        if not fields["valid"]:
            return None
        tag = self._registers.read(f"{self.name}.error_tag")
        return EngineError(
            Status(fields["status"]), tag, self._registers.read64(f"{self.name}.error_address")
        )

    def clear_error(self) -> None:
        """Lets the next error be recorded."""
        self._registers.set(f"{self.name}.command", clear_error=1)

    def counters(self, timeout: float = 1.0) -> dict[str, int]:
        """Returns all counters by name, as of one moment; they continue to count meanwhile."""
        hold = f"{self.name}.counter_hold"
        # Version 1.0 of the register map cannot hold them.
        can_hold = self.driver.geometry.version >= (1, 1)
        if can_hold:
            self._registers.set(hold, hold=1)
            self.driver.until(lambda: self._registers.fields(hold)["held"], timeout, "the counters")
        try:
            return {name: self._registers.read64(f"{self.name}_counters.{name}") for name, _ in COUNTERS}
        finally:
            if can_hold:
                self._registers.set(hold, hold=0)
