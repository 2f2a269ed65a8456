"""Hostile software on one channel: anything in its registers and rings, beside honest software on the other channel, or on
any channel of another pair.

Windows are opened and locked first. Then the hostile software writes registers of its channel and of the windows, rings
and descriptors, by chance and by craft: at the edges of the windows, of the address space and of the numbers. Whatever it
does, no burst may leave the windows, the honest channel's transfers must be right, and a soft reset must end within its
time; the hostile channel must then work again. In an engine with owners each channel has one or some, which are locked,
too: no address may say another one. Where there are messages, they go to one place. Channels of one pair share the windows,
so that the hostile software is kept from the honest one's buffers by its own choice: they lie below all that it uses. Of two
pairs each has windows of its own, and nothing but these keeps the hostile one from the other one's memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from cdma.hdl.spec.options import ENTRY_BYTES, PAGE_BYTES, owner_mask, packed_pages
from cdma.hdl.spec.records import DESCRIPTOR, RECORD_BYTES, Mode
from cdma.hdl.spec.registers.optional import push_words
from cdma.sim.engine.memory import OwnerRule, pack, unpack
from cdma.sim.engine.transfer import DIRECTIONS
from cdma.verif.engine.memory import AROUND
from cdma.verif.engine.transfer import Transfer, random_words, transfer

from .machine import Channel, Machine, Pace, Side
from .scene import Silent, Verdict, Wrong, compare, judged
from .software import Software

#: The windows of both ports, the buffers of the honest software, and where the hostile software's begin. Of two pairs the
#: honest one has what is below that.
_WINDOWS: dict[Side, tuple[int, int]] = {"dev": (0x8000, 0x7FFFF), "host": (0x1000, 0x7FFFF)}
_HONEST, _PITCH, _ARENA = 0x8000, 0x1000, 0x10000
#: Where messages of the hostile software go, outside of the windows.
_CELL = 0x80000
#: Transfers of the honest software, and cycles in which they, and a soft reset, must end.
_TRANSFERS, _LIMIT = 4, 100_000
#: Descriptors of 64 bytes that the hostile software lays out at once.
_LAID = 16


def hostile_cases(machine: Machine, seed: int, numbers: range, only: str | None = None) -> Iterator[Verdict]:
    """The verdicts on the attacks with these numbers, or on the one ``only``."""
    for number in [int(only)] if only is not None else numbers:
        yield _Attack(machine, seed, number).verdict()


def _sides(channel: str) -> tuple[Side, Side]:
    return ("dev", "host") if channel == "offload" else ("host", "dev")


class _Attack:
    """One attack: a channel is hostile, and the other one is honest."""

    def __init__(self, machine: Machine, seed: int, number: int) -> None:
        self.config, self.number = machine.config, number
        self.rng = random.Random(f"{seed}/{number}")
        pairs = list(range(self.config.channels))
        #: The pairs of the hostile and of the honest software. The first one says what holds for all, and is not hostile.
        self.pair = self.other = 0
        if len(pairs) > 1:
            self.pair = self.rng.choice(pairs[1:])
            self.other = self.rng.choice([each for each in pairs if each != self.pair])
        self.apart = self.pair != self.other
        self.machine = machine.of_pair(self.pair)
        self.friend = machine.of_pair(self.other) if self.apart else self.machine
        self.np = np.random.default_rng([seed, 3, number])
        channels = list(DIRECTIONS)
        self.rng.shuffle(channels)
        self.hostile, self.honest = channels
        if self.apart:
            self.honest = self.rng.choice(channels)
        #: Whose the transfers of each channel may be, and whose its rings are.
        self._owner_bits = owner_mask(self.config.records.owner_fields)
        self._rules = {name: OwnerRule(self._some_owner(), self._owner_bits) for name in channels}
        if self.rng.random() < 0.5:
            self._rules[self.hostile] = replace(self._rules[self.hostile], mask=self._owner_bits & ~0xF)
        self._rings = {name: self._some_owner() for name in channels}
        ways: dict[str, Callable[[], None]] = {
            "registers": self._some_register,
            "rings": self._some_ring,
            "descriptors": self._push,
        }
        self.kind = self.rng.choice(list(ways))
        self._ways = ways
        self._own = [
            placed
            for placed in self.machine.registers.placed()
            if placed.instance
            in (self.hostile, f"{self.hostile}_message", "dev_window", "host_window", *self._owner_blocks())
        ]

    def _owner_blocks(self) -> tuple[str, ...]:
        return tuple(f"{name}_owner" for name in DIRECTIONS) if self._owner_bits else ()

    def verdict(self) -> Verdict:
        self._prepare()
        outcome, reason = judged(self._run)
        return Verdict(f"{self.kind}, {self.hostile}", str(self.number), outcome, self.outside, reason)

    # -- The honest software.

    def _prepare(self) -> None:
        machine, rng = self.machine, self.rng
        self.outside = 0
        machine.heal()
        machine.reset()
        machine.state()
        if self.config.msi:
            machine.poke(f"{self.hostile}_message.address_low", word=_CELL >> 2)
            machine.poke(f"{self.hostile}_message.control", enable=1)
            machine.allow("host", _CELL, 4)
        for port, (_, limit) in _WINDOWS.items():
            # What an attack finds is not what the one before has left.
            machine.fill(port, 0, limit + 1, 0)
            machine.allow(port, _ARENA, limit + 1 - _ARENA)
            for each in dict.fromkeys((machine, self.friend)):
                base, limit = self._window(port, each)
                each.poke(f"{port}_window.base_low", page=base >> 12)
                each.poke(f"{port}_window.base_high", value=0)
                each.poke(f"{port}_window.limit_low", page=limit >> 12)
                each.poke(f"{port}_window.limit_high", value=0)
                each.poke(f"{port}_window.lock", locked=1)
        for name in DIRECTIONS if self._owner_bits else ():
            words = {
                "value": self._rules[name].value,
                "mask": self._rules[name].mask,
                "ring": self._rings[name],
            }
            for each in dict.fromkeys((machine, self.friend)):
                for register, word in words.items():
                    each.poke_at(each.registers[f"{name}_owner.{register}"].address, word)
                each.poke(f"{name}_owner.lock", locked=1)
        for ring in ("ring", "completion"):
            machine.poke(f"{self.hostile}.{ring}_base_low", line=_ARENA >> 6)
        self.software = Software(self.friend, self.honest, "ring")
        self.made = [self._transfer(self.honest, index) for index in range(_TRANSFERS)]
        self.software.start(table=[0] * self.config.codec.table_size)
        machine.begin(Pace(latency=rng.choice((2, 30)), pause=rng.choice((0, 60)), seed=self.number + 1))

    def _window(self, port: Side, machine: Machine) -> tuple[int, int]:
        base, limit = _WINDOWS[port]
        if not self.apart:
            return base, limit
        return (_ARENA, limit) if machine is self.machine else (base, _ARENA - 1)

    def _transfer(self, channel: str, index: int, first: int = _HONEST) -> Transfer:
        """An honest transfer, whose source is written and whose destination is allowed."""
        machine, config = self.machine, self.config
        raw = random_words(self.np, self.rng.randint(1, 200), config, (0,))
        place = first + index * _PITCH + 512
        made = transfer(
            config,
            channel,
            mode=self.rng.choice((Mode.RAW, Mode.ZVC)),
            raw=raw,
            table=(0,) * config.codec.table_size,
            source=place,
            destination=place,
            tag=index + 1,
        )
        made.descriptor |= self._owned(self._rules[channel].value)
        read, side = _sides(channel)
        machine.write(read, place, made.source)
        capacity = made.descriptor["capacity"]
        machine.fill(side, place - AROUND, capacity + 2 * AROUND, 0xA5)
        machine.allow(side, place, capacity)
        return made

    def _check(self, software: Software, made: Transfer) -> None:
        """Waits for the next completion, and compares it and what was written."""
        if not software.ready(software.done, _LIMIT):
            raise TimeoutError(f"{software.channel} has no completion {software.done}")
        compare(made, software.take())
        (_, side), at = _sides(software.channel), made.descriptor["destination"]
        capacity = made.descriptor["capacity"]
        got = self.machine.read(side, at - AROUND, capacity + 2 * AROUND)
        if got != made.image():
            raise Silent("the honest data are not right")

    def _some_owner(self) -> int:
        word = self.rng.getrandbits(32) & self._owner_bits if self._owner_bits else 0
        return word if word >> 31 else word & ~((1 << 20) - 1)

    def _owned(self, word: int) -> dict[str, int]:
        return {"owned": 1, "owner": word} if self._owner_bits else {}

    # -- The attack.

    def _run(self) -> str:
        software, half = self.software, _TRANSFERS // 2
        for part in (self.made[:half], self.made[half:]):
            software.submit([made.record() for made in part])
            for _ in range(self.rng.randint(1, 8)):
                way = (
                    self._ways[self.kind]
                    if self.rng.random() < 0.7
                    else self.rng.choice(list(self._ways.values()))
                )
                way()
                self.machine.run(self.rng.choice((0, 0, 20, 300)))
        for made in self.made:
            self._check(software, made)
        noticed = self.machine.peek(f"{self.hostile}.error", "valid")
        self.machine.poke("engine.command", soft_reset=1)
        if not self.machine.expect("engine.status", _LIMIT, resetting=0):
            raise TimeoutError("the soft reset does not end")
        self._look_at_bursts()
        for port in _WINDOWS:
            base, limit = self._window(port, self.machine)
            found = [self.machine.peek(f"{port}_window.{edge}_low", "page") for edge in ("base", "limit")]
            if found != [base >> 12, limit >> 12]:
                raise Wrong(f"the locked window of {port} has moved")
        state = self.machine.state()
        self.outside = state.outside
        if state.broken or state.deaf:
            raise Wrong(state.broken or "the register port does not answer")
        again = Software(self.machine, self.hostile, "ring")
        if self.apart:
            again.move(_ARENA)
        again.start(table=[0] * self.config.codec.table_size)
        made = self._transfer(self.hostile, 0, 2 * _ARENA if self.apart else _HONEST)
        again.submit([made.record()])
        self._check(again, made)
        return "detected" if noticed else "harmless"

    def _look_at_bursts(self) -> None:
        """Compares every burst with the window of its port."""
        for event in self.machine.events():
            if event.channel not in (Channel.AR, Channel.AW):
                continue
            name = self.machine.ports[event.port]
            side: Side = "host" if name == "host" else "dev"
            base, limit = _WINDOWS[side]
            bits = self.config.data_bits(side)
            last = event.address + event.beats * bits // 8 - 1
            pairs = self.config.channels
            if self.config.msi and event.id > 2 * max(2, pairs + self.config.pages) and side == "host":
                if event.address != _CELL:
                    raise Wrong(f"a message goes to {event.address:#x}")
                continue
            if pairs > 1 and side == "host" and event.id:
                # Rings are told apart by their IDs; lists of pages are the hostile software's alone.
                owner = self.machine if (event.id - 1) // 2 in (self.pair, pairs) else self.friend
                base, limit = self._window(side, owner)
            if event.address < base or last > limit:
                raise Wrong(
                    f"a burst at {name} reaches {event.address:#x} to {last:#x}, outside of its window"
                )
            if event.id and side == "host":
                of = DIRECTIONS[(event.id - 1) % 2]
                allowed = event.owner == self._rings[of]
            else:
                # Offload reads device memory and writes host memory.
                of = DIRECTIONS[(event.channel is Channel.AR) == (side == "host")]
                allowed = self._rules[of].allows(event.owner)
            if not allowed:
                raise Wrong(f"a burst at {name}, ID {event.id}, of {of} is of {event.owner:#x}")

    def _some_address(self, port: Side) -> int:
        """An address: in the hostile software's part, at an edge of the window, or anywhere above it."""
        rng = self.rng
        base, limit = self._window(port, self.machine)
        inside = rng.randrange(_ARENA, limit - 0x1000, 64)
        if self.apart and rng.random() < 0.2:
            # The other pair's rings and buffers.
            return rng.randrange(_WINDOWS[port][0], _ARENA, 64)
        return rng.choice(
            (
                inside,
                inside,
                _ARENA,
                limit + 1 - rng.choice((0, 16, 64, 128, 4096)),
                base - rng.choice((16, 64, 4096)),
                inside | 1 << rng.randrange(20, 64),
                (1 << 64) - rng.choice((16, 64, 4096)),
                rng.getrandbits(64) | 1 << 63,
            )
        )

    def _some_value(self, name: str) -> int:
        rng = self.rng
        if "base" in name:
            address = self._some_address("host")
            return address >> 32 if name.endswith("high") else address & 0xFFFFFFFF
        return rng.choice((0, 1, 0xFFFFFFFF, rng.getrandbits(32), 1 << rng.randrange(32), rng.randrange(16)))

    def _some_register(self) -> None:
        """Writes a register of the channel or of a window, by its fields or not."""
        placed = self.rng.choice(self._own)
        value = self._some_value(placed.name)
        if not self.apart and placed.name.endswith("_base_low") and not value >> 16:
            # Below its own part are the rings of the honest software.
            value |= 1 << 31
        self.machine.poke_at(placed.address, value)

    def _some_ring(self) -> None:
        """Writes descriptors, and starts rings anywhere, of any size, with any tail."""
        machine, rng, name = self.machine, self.rng, self.hostile
        at = rng.randrange(_ARENA, _WINDOWS["host"][1] - 0x10000, RECORD_BYTES)
        machine.write("host", at, b"".join(self._descriptor() for _ in range(_LAID)))
        descriptors = at if rng.random() < 0.7 else self._some_address("host")
        completions = self._some_address("host")
        machine.poke(f"{name}.control", enable=rng.getrandbits(1))
        machine.poke_at(
            machine.registers[f"{name}.ring_size"].address, rng.choice((1, 2, 4, rng.randrange(16)))
        )
        for ring, some in (("ring", descriptors), ("completion", completions)):
            # A ring that begins below its own part may run into that of the honest software.
            address = some if self.apart or some >= _ARENA else some | 1 << 20
            for half, value in (("low", address & 0xFFFFFFFF), ("high", address >> 32)):
                machine.poke_at(machine.registers[f"{name}.{ring}_base_{half}"].address, value)
        for tail in ("ring_tail", "completion_tail"):
            value = rng.choice((0, 1, _LAID, rng.getrandbits(16)))
            machine.poke_at(machine.registers[f"{name}.{tail}"].address, value)
        machine.poke_at(
            machine.registers[f"{name}.control"].address, rng.choice((0xD, 0xF, 0x5, rng.randrange(16)))
        )
        machine.run(rng.choice((10, 200, 1000)))

    def _descriptor(self) -> bytes:
        """A descriptor: 64 bytes by chance, or one that is right but for some of its fields."""
        rng = self.rng
        if rng.random() < 0.15:
            return rng.randbytes(RECORD_BYTES)
        read, write = _sides(self.hostile)
        values = {
            "source": rng.randrange(_ARENA, 0x70000, 64),
            "destination": rng.randrange(_ARENA, 0x70000, 64),
            "length": 64 * rng.randint(1, 16),
            "capacity": 2048,
            "mode": rng.choice((0, 1)),
            "tag": rng.getrandbits(32),
        }
        values |= self._owned(self._rules[self.hostile].value ^ rng.choice((0, 0, 0, rng.getrandbits(4))))
        if self.hostile == "prefetch" and values["mode"]:
            values["compressed_length"] = 64 * rng.randint(1, 16)
        if self.config.pages and rng.random() < 0.5:
            self._in_pages(values, write)
        for _ in range(rng.choice((0, 1, 1, 2))):
            field = rng.choice(DESCRIPTOR)
            values[field.name] = {
                "source": lambda: self._some_address(read),
                "destination": lambda: self._some_address(write),
            }.get(
                field.name, lambda bits=field.bits: rng.choice((0, 1 << rng.randrange(bits), (1 << bits) - 1))
            )()
        return pack(DESCRIPTOR, values)

    def _in_pages(self, values: dict[str, int], write: Side) -> None:
        """Moves the host memory of a descriptor into a list of pages, some of which are invalid or forbidden."""
        rng = self.rng
        at = rng.randrange(_ARENA, _WINDOWS["host"][1], PAGE_BYTES)
        values["destination" if write == "host" else "source"] = at ^ PAGE_BYTES | PAGE_BYTES - 64
        lengths = {"length", "capacity", "compressed_length"} & values.keys()
        values |= dict.fromkeys(lengths, 3 * PAGE_BYTES)
        pages = [
            self._some_address("host") & -rng.choice((ENTRY_BYTES, *3 * (PAGE_BYTES,))) for _ in range(3)
        ]
        self.machine.write("host", at, packed_pages(pages))
        if rng.random() < 0.2:
            at = self._some_address("host") & -PAGE_BYTES
        values |= {"pages_low": at & 0xFFFFFFFF, "pages_high": at >> 32}

    def _push(self) -> None:
        """Submits a descriptor through registers, whether or not one is pending."""
        values = unpack(DESCRIPTOR, self._descriptor())
        for register, word in push_words(self.config.records, values).items():
            self.machine.poke_at(self.machine.registers[register].address, word)
        self.machine.poke("push.submit", **{self.hostile: 1})
        self.machine.poke(f"{self.hostile}.control", enable=1)
        if self.rng.random() < 0.5:
            self.machine.poke(f"{self.hostile}.command", pop_completion=1)
