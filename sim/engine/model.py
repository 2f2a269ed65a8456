"""The engine as software sees it: registers, rings and memory, without clock cycles; with several queue pairs, too.

It is an executable specification, and an engine to develop a driver with: :class:`EngineModel` has the ``read32`` and
``write32`` that :class:`cdma.sim.engine.driver.driver.Driver` needs, works on memory buffers, and advances when
:meth:`EngineModel.step` is called. With several pairs ``Shares`` specifies which one is served next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAIR_SPAN_LOG2, TURN_LOG2, USUAL_PROT, rights
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, SHAPE_RECORD, descriptor_fields
from cdma.hdl.spec.registers.declare import DENIED_BITS, record_parts
from cdma.hdl.spec.registers.description import Access, Placed
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.spec.registers.optional import shape_parts

from .channel import ChannelModel
from .memory import BusError, Memory, OwnerRule, Port, pack
from .transfer import DIRECTIONS


class Denials:
    """Refuses accesses without the right that ``protection`` asks for, counts them, and keeps the first."""

    def __init__(self, protection: str) -> None:
        self._mask, self._value = rights(protection)
        self.clear()

    def clear(self) -> None:
        self._count = 0
        self._first = {"address": 0, "prot": 0, "write": 0}

    def check(self, address: int, prot: int, *, write: bool) -> None:
        """Raises :class:`BusError` for an access without the right."""
        if prot & self._mask == self._value:
            return
        if not self._count:
            self._first = {"address": address & ~3, "prot": prot, "write": int(write)}
        self._count = min(self._count + 1, (1 << DENIED_BITS) - 1)
        raise BusError("SLVERR", address)

    def shown(self) -> dict[str, int]:
        """The fields of the register ``denied``."""
        return {**self._first, "count": self._count}


class MessageModel:
    """The messages of one channel, each of which is written at once.

    ``settings(path)``
        The stored field ``register.field`` of the channel's block ``message``.
    ``causes()``
        The bits of ``irq_status`` that are set and enabled.
    ``fail``: Called when one is answered with an error.
    """

    def __init__(
        self,
        host: Memory,
        settings: Callable[[str], int],
        causes: Callable[[], int],
        fail: Callable[[], None],
    ) -> None:
        self.host = host
        self.settings, self.causes, self.fail = settings, causes, fail
        self._shown = 0

    def look(self, event: int = 0) -> None:
        """Writes a message for an ``event``, a bit of ``irq_status`` that is set now, maybe anew, and for what software has
        enabled since the last look."""
        shown = self.causes() if self.settings("control.enable") else 0
        if shown & (event | ~self._shown):
            address = self.settings("address_high.value") << 32 | self.settings("address_low.word") << 2
            try:
                self.host.write(address, self.settings("data.value").to_bytes(4, "little"))
            except BusError:
                self.fail()
        self._shown = shown


class EngineModel:
    """An engine built from ``config``, between the memories ``dev`` and ``host``."""

    def __init__(self, config: EngineConfig, dev: Memory, host: Memory) -> None:
        self.config = config
        self.registers = register_map(config)
        self._at = {placed.address: placed for placed in self.registers.placed()}
        self._stored: dict[int, int] = {}
        self._banks = {
            placed.instance: address for address, placed in self._at.items() if placed.register.name == "bank"
        }
        self._latched_high: dict[str, int] = defaultdict(int)
        #: The counters of channels that hold them.
        self._held: dict[str, dict[str, int]] = {}
        self._reset_stored(everything=True)
        self._denials = Denials(config.register_protection)
        self.dev = Port(dev, config.dev_data_bits, config.dev_address_bits, lambda: self._window("dev"))
        self.host = Port(host, config.host_data_bits, config.host_address_bits, lambda: self._window("host"))
        self.channels = {name: self._channel(name) for name in DIRECTIONS}
        self.messages = {name: self._messages(name, host) for name in DIRECTIONS} if config.msi else {}

    def _channel(self, name: str) -> ChannelModel:
        def interrupt(cause: str) -> None:
            placed = self.registers[f"{name}.irq_status"]
            bit = placed.register.field(cause).mask
            self._stored[placed.address] |= bit
            if self.config.msi:
                self.messages[name].look(bit)

        channel = ChannelModel(
            self.config, name, self.dev, self.host, lambda path: self._field(f"{name}.{path}"), interrupt
        )
        table = [
            placed
            for placed in self._at.values()
            if (placed.instance, placed.register.name) == (name, "table")
        ]
        channel.table = lambda: tuple(self._stored[placed.address] for placed in table)
        if self.config.records.owner_bits:
            rule = [self.registers[f"{name}_owner.{part}"].address for part in ("value", "mask")]
            channel.owners = lambda: OwnerRule(*(self._stored[address] for address in rule))
        return channel

    def _messages(self, name: str, host: Memory) -> MessageModel:
        def fail() -> None:
            placed = self.registers[f"{name}_message.status"]
            self._stored[placed.address] |= placed.register.field("failed").mask

        return MessageModel(
            host, lambda path: self._field(f"{name}_message.{path}"), lambda: self._causes(name), fail
        )

    # -- what software sees

    @property
    def irq(self) -> bool:
        """The interrupt line."""
        return any(self._asserts(name) for name in DIRECTIONS)

    def read32(self, address: int, prot: int = USUAL_PROT) -> int:
        """Reads a register; raises :class:`BusError` if there is none at ``address``, or if AxPROT ``prot`` may
        not use registers."""
        self._denials.check(address, prot, write=False)
        placed = self._placed(address)
        value = self._stored.get(self._place(placed), placed.register.stored_reset)
        if any(field.access is Access.RO for field in placed.register.fields):
            value |= self._driven(placed)
        return value

    def write32(self, address: int, value: int, prot: int = USUAL_PROT) -> None:
        """Writes a register; raises :class:`BusError` as :meth:`read32` does."""
        self._denials.check(address, prot, write=True)
        placed = self._placed(address)
        register = placed.register
        if register.locked_by and self._field(f"{placed.instance}.{register.locked_by}"):
            return
        pulses = []
        place = self._place(placed)
        stored = self._stored.get(place, placed.register.stored_reset)
        for field in register.fields:
            bits = value & field.mask
            if field.access is Access.RW:
                stored = stored & ~field.mask | bits
            elif field.access is Access.W1C:
                stored &= ~bits
            elif field.access is Access.LOCK:
                stored |= bits
            elif field.access is Access.PULSE and bits:
                pulses.append(field.name)
        self._stored[place] = stored
        if register.name == "counter_hold":
            self._hold(placed.instance, bool(stored))
        for name in pulses:
            self._act(placed.instance, name)
        for messages in self.messages.values():
            messages.look()

    def step(self) -> bool:
        """Lets each channel carry out one descriptor or deliver one completion; returns whether any did."""
        return self.channels["offload"].step() | self.channels["prefetch"].step()

    def run(self) -> None:
        """Steps until no channel has anything to do."""
        while self.step():
            pass

    # -- registers

    def _placed(self, address: int) -> Placed:
        try:
            return self._at[address & ~3]
        except KeyError:
            raise BusError("SLVERR", address) from None

    def _place(self, placed: Placed) -> int:
        """Where the value of a register is kept: a register ``bank`` of its block chooses among those of an array."""
        bank = self._banks.get(placed.instance) if placed.register.count else None
        return placed.address + (self._stored[bank] << PAIR_SPAN_LOG2 if bank else 0)

    def _field(self, path: str) -> int:
        register, _, field = path.rpartition(".")
        placed = self.registers[register]
        return placed.register.field(field).get(self.read32(placed.address))

    def _reset_stored(self, everything: bool) -> None:
        # What is in another bank than the first has its reset value where nothing is kept.
        self._stored = {at: value for at, value in self._stored.items() if at in self._at}
        for address, placed in self._at.items():
            value = sum(
                field.reset << field.lsb for field in placed.register.fields if field.access is not Access.RO
            )
            locks = sum(field.mask for field in placed.register.fields if field.access is Access.LOCK)
            if everything:
                self._stored[address] = value
            elif not placed.block.survives_soft_reset:
                self._stored[address] = value & ~locks | self._stored[address] & locks

    def _window(self, port: str) -> tuple[int, int]:
        def value(name: str) -> int:
            low, high = (
                self._stored[self.registers[f"{port}_window.{name}_{half}"].address]
                for half in ("low", "high")
            )
            return high << 32 | low

        return value("base"), value("limit")

    def _causes(self, name: str) -> int:
        """The bits of ``irq_status`` that are enabled."""
        status, enable = (
            self._stored[self.registers[f"{name}.irq_{what}"].address] for what in ("status", "enable")
        )
        return status & enable

    def _asserts(self, name: str) -> bool:
        return bool(self._causes(name))

    def _hold(self, instance: str, hold: bool) -> None:
        if not hold:
            self._held.pop(instance, None)
        elif instance not in self._held:
            self._held[instance] = dict(self.channels[instance].counters)

    def _act(self, instance: str, command: str) -> None:
        match instance, command:
            case "engine", "soft_reset":
                self._reset_stored(everything=False)
                self._held.clear()
                for channel in self.channels.values():
                    channel.forget()
                    channel.clear_counters()
            case "engine", "clear_denied":
                self._denials.clear()
            case "engine", "clear_counters":
                for channel in self.channels.values():
                    channel.clear_counters()
            case "push", _:
                self.channels[command].pushed.append(self._staged())
            case _, "abort_now":
                # No descriptor is in flight between two steps.
                self.channels[instance].halted = True
            case _, "resume":
                self.channels[instance].halted = False
            case _, "clear_error":
                self.channels[instance].error = None
            case _, "pop_completion":
                self.channels[instance].pop()

    def _staged(self) -> bytes:
        values: dict[str, int] = defaultdict(int)
        for part in record_parts(descriptor_fields(self.config.records), "flags"):
            values[part.record.name] |= self._field(f"push.{part.register}.{part.field}") << part.start
        extension: dict[str, int] = defaultdict(int)
        for name, part in shape_parts() if self.config.dimensions else ():
            extension[part.record.name] |= self._field(f"shape.{name}.{part.field}") << part.start
        return pack(DESCRIPTOR, values) + pack(SHAPE_RECORD, extension)

    def _driven(self, placed: Placed) -> int:
        register = placed.register
        if placed.block.external:
            name, _, half = register.name.rpartition("_")
            if half == "low":
                channel = placed.instance.partition("_")[0]
                counters = self._held.get(channel) or self.channels[channel].counters
                value = counters[name]
                self._latched_high[placed.instance] = value >> 32
                return value & 0xFFFFFFFF
            return self._latched_high[placed.instance]
        if placed.name == "engine.flips":
            # The model's memories do not err.
            return 0
        if placed.name == "engine.denied":
            return register.put(**self._denials.shown())
        if placed.instance == "engine":
            return register.put(
                offload_irq=self._asserts("offload"), prefetch_irq=self._asserts("prefetch"), resetting=0
            )
        if placed.block.name == "message":
            return register.put(locked=self._field("host_window.lock.locked"))
        if placed.instance == "push":
            return register.put(pending=any(channel.pushed for channel in self.channels.values()))
        return self._driven_channel(placed)

    def _driven_channel(self, placed: Placed) -> int:
        channel = self.channels[placed.instance]
        register = placed.register
        direct = not self._stored[self.registers[f"{placed.instance}.control"].address] & 8
        match register.name:
            case "status":
                waiting = channel.waiting is not None and direct
                return register.put(busy=channel.busy, halted=channel.halted, completion_waiting=waiting)
            case "counter_hold":
                return register.put(held=placed.instance in self._held)
            case "ring_head":
                return channel.head
            case "completion_head":
                return channel.completion_head
            case "error" | "error_tag" | "error_address_low" | "error_address_high":
                if channel.error is None:
                    return 0
                return {
                    "error": 1 << 31 | int(channel.error.status),
                    "error_tag": channel.error.tag,
                    "error_address_low": channel.error.address & 0xFFFFFFFF,
                    "error_address_high": channel.error.address >> 32,
                }[register.name]
        if channel.waiting is None:
            return 0
        raw = channel.waiting.pack(phase=0)
        offset = (
            register.offset
            - placed.block.register("completion_" + record_parts(COMPLETION, "result")[0].register).offset
        )
        return int.from_bytes(raw[offset : offset + 4], "little")


#: Turns that are given at once to those who are deep in debt.
_OFTEN = 256


class ShareModel:
    """One direction, with ``weights`` and ``levels`` that may change at any time."""

    def __init__(self, weights: Sequence[int], levels: Sequence[int], step_log2: int = TURN_LOG2) -> None:
        self.weights, self.levels, self.step_log2 = list(weights), list(levels), step_log2
        self.balances = [0] * len(self.weights)
        self._last = -1

    def look(self, asks: Sequence[bool]) -> int | None:
        """Chooses one that asks, or fills the accounts of the highest level that does; None then, or if none asks."""
        if not any(asks):
            return None
        highest = max(level for level, asking in zip(self.levels, asks, strict=True) if asking)
        mates = [number for number, level in enumerate(self.levels) if level == highest]
        able = [number for number in mates if asks[number] and self.balances[number] > 0]
        if not able:
            turns = {number: max(1, self.weights[number]) << self.step_log2 for number in mates}
            deep = {number: self.balances[number] + _OFTEN * turn <= 0 for number, turn in turns.items()}
            often = all(deep[number] for number in mates if asks[number])
            for number, turn in turns.items():
                if often:
                    self.balances[number] = self.balances[number] + _OFTEN * turn if deep[number] else turn
                else:
                    self.balances[number] = min(self.balances[number], 0) + turn
            return None
        self._last = next((number for number in able if number > self._last), able[0])
        return self._last

    def charge(self, number: int, units: int) -> None:
        """Notes that the one that was chosen moves so many units."""
        self.balances[number] -= units


class PairsModel:
    """An engine of several queue pairs between ``dev`` and ``host``; each pair's registers are in a page of their own. The
    model has no time, so :class:`.ShareModel` specifies which pair is next."""

    def __init__(self, config: EngineConfig, dev: Memory, host: Memory) -> None:
        self.pairs = [EngineModel(config.of_pair(number), dev, host) for number in range(config.channels)]

    @property
    def irqs(self) -> list[bool]:
        return [pair.irq for pair in self.pairs]

    def _pair(self, address: int) -> EngineModel:
        number = address >> PAIR_SPAN_LOG2
        if number >= len(self.pairs):
            raise BusError("SLVERR", address)
        return self.pairs[number]

    def read32(self, address: int, prot: int = USUAL_PROT) -> int:
        """Reads a register; raises :class:`BusError` if there is none at ``address``."""
        return self._pair(address).read32(address % (1 << PAIR_SPAN_LOG2), prot)

    def write32(self, address: int, value: int, prot: int = USUAL_PROT) -> None:
        """Writes a register; raises :class:`BusError` as :meth:`read32` does."""
        self._pair(address).write32(address % (1 << PAIR_SPAN_LOG2), value, prot)

    def step(self) -> bool:
        """Lets each channel of each pair carry out one descriptor or deliver one completion; returns whether any did."""
        done = [pair.step() for pair in self.pairs]
        return any(done)

    def run(self) -> None:
        """Steps until no channel has anything to do."""
        while self.step():
            pass
