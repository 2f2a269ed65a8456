"""The owner of each address, and objections of the C++ bench as exceptions."""

from __future__ import annotations

import ctypes
import random
from collections import deque
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, NoReturn

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import ENTRY_BYTES, OWNER_PORTS, PAGE_BYTES, owner_mask
from cdma.hdl.spec.records import DESCRIPTOR, LENGTH_BITS, RECORD_BYTES, SHAPE_RECORD
from cdma.sim.engine.memory import EVERYBODY, unpack
from cdma.sim.engine.shaped import list_of
from cdma.sim.engine.transfer import DIRECTIONS, TransferRules
from cdma.verif.simulator.monitors.rules import level, number

from .memory import SIZE, Memory


class Objections:
    """Where C++ writes what it objects to.

    ``memories``: What these object to beyond their end is an exception already.
    """

    def __init__(self, *memories: Memory) -> None:
        self.text = ctypes.create_string_buffer(400)
        self.memories = list(memories)

    def check(self) -> None:
        if self.text.value:
            self.raise_with(self.text.value.decode())

    def raise_with(self, text: str) -> NoReturn:
        for memory in self.memories:
            if memory.objection is not None:
                raise memory.objection
        raise AssertionError(text)


#: Descriptors of a channel that are remembered; more than are in flight.
_REMEMBERED = 64


class _Addresses:
    """The addresses that one channel of a port offers."""

    def __init__(self, dut: Any, prefix: str, fields: Mapping[str, tuple[int, int]]) -> None:
        def pin(name: str) -> Any:
            return getattr(dut, f"{prefix}{name}")

        self.valid = level(pin("valid"))
        self.address, self.id = number(pin("addr")), number(pin("id"))
        self._fields = [(lsb, number(pin(OWNER_PORTS[name]))) for name, (lsb, _) in fields.items()]

    def owner(self) -> int:
        """The owner in the form of a descriptor."""
        return sum(read() << lsb for lsb, read in self._fields)


class Owners:
    """Objects to an address whose owner is not that of its descriptor, or of the rings. Each of several pairs has rules
    and rings of its own.

    ``rules``: The owners whose descriptors each channel may carry out.
    ``rings``: The owners of its rings.
    ``seen``: Counts the addresses of data and of rings that were looked at.
    """

    def __init__(self, dut: Any, config: EngineConfig) -> None:
        self.config = config
        self.fields = config.records.owner_fields
        self.has = owner_mask(self.fields)
        self.rules = dict.fromkeys(DIRECTIONS, EVERYBODY)
        self.rings = dict.fromkeys(DIRECTIONS, 0)
        self._pairs = {0: self}
        #: The lists of pages, and what software sees whose they are.
        self._lists: deque[tuple[int, Owners]] = deque(maxlen=_REMEMBERED)
        self.seen = {"data": 0, "rings": 0}
        self._transfers = {name: TransferRules(config, name) for name in DIRECTIONS}
        # Offload reads device memory and writes host memory.
        self._ways = [
            (
                _Addresses(dut, f"m_axi_{port}_{way}", self.fields),
                DIRECTIONS[(way == "ar") == (kind == "host")],
                way,
                kind,
            )
            for kind, ports in (("dev", config.dev_ports), ("host", ("host",)))
            for port in ports
            for way in ("ar", "aw")
        ]
        self._expected: dict[tuple[str, str], deque[tuple[int, int, int]]] = {
            (name, way): deque(maxlen=_REMEMBERED * (512 if config.pages else 1))
            for name in DIRECTIONS
            for way in ("ar", "aw", "base")
        }

    def of_pair(self, number: int) -> Owners:
        if number:
            self._pairs[number] = pair = copy(self)
            pair.rules, pair.rings = dict.fromkeys(DIRECTIONS, EVERYBODY), dict.fromkeys(DIRECTIONS, 0)
        return self._pairs[number]

    def some(self, rng: random.Random) -> dict[str, int]:
        """The fields of a descriptor of anybody."""
        word = sum(
            rng.choice((0, (1 << bits) - 1, rng.getrandbits(bits))) << lsb
            for lsb, bits in self.fields.values()
        )
        if not word >> 31:
            word &= ~((1 << 20) - 1)
        return {"owned": int(bool(word) or rng.random() < 0.5), "owner": word}

    def expect(self, channel: str, record: bytes, host: Memory) -> None:
        """Notes a submitted descriptor; ``host`` memory has its lists of pages."""
        descriptor = unpack(DESCRIPTOR, record[:RECORD_BYTES])
        if pages := list_of(descriptor):
            self._lists.append((pages // PAGE_BYTES, self))
        base = self._transfers[channel].base(descriptor)
        if base is not None:
            span = (base, base + descriptor["length"] - 1)
            self._expected[channel, "base"].append((*span, descriptor["owner"]))
        for field, way in (("source", "ar"), ("destination", "aw")):
            for first, last in self._spans(channel, descriptor, record[RECORD_BYTES:], field, host):
                self._expected[channel, way].append((first, last, descriptor["owner"]))

    def _spans(
        self, channel: str, descriptor: dict[str, int], extension: bytes, field: str, host: Memory
    ) -> Iterator[tuple[int, int]]:
        """The bytes of a descriptor's source or destination, rounded to beats."""
        rules = self._transfers[channel]
        port = rules.source if field == "source" else rules.sink
        beat = self.config.data_bits(port) // 8
        first, count = descriptor[field], rules.bytes_read(descriptor)
        if field == "destination":
            count = min(rules.capacity(descriptor), (1 << LENGTH_BITS) - 1)
        if extension and port == "dev":
            shape = rules.shape(unpack(SHAPE_RECORD, extension))
            if shape is None:
                return
            first, count = first + shape.lowest, shape.span
        pages = list_of(descriptor) if port == "host" else 0
        if pages:
            yield first // PAGE_BYTES * PAGE_BYTES, first | PAGE_BYTES - 1
            entries = -(-(first % PAGE_BYTES + count) // PAGE_BYTES) - 1
            if pages % PAGE_BYTES or entries > PAGE_BYTES // ENTRY_BYTES:
                return
            data = host.read(pages % SIZE, max(0, entries) * ENTRY_BYTES)
            for at in range(0, len(data), ENTRY_BYTES):
                page = int.from_bytes(data[at : at + ENTRY_BYTES], "little")
                yield page, page | PAGE_BYTES - 1
            return
        yield first // beat * beat, first + count - 1

    def step(self, cycle: int, in_reset: bool) -> None:
        if in_reset:
            return
        for addresses, channel, way, kind in self._ways:
            if not addresses.valid():
                continue
            if kind == "dev" and addresses.id():
                # Of device memory these are the bases of a channel.
                self._look_at_data(addresses, DIRECTIONS[addresses.id() - 1], "base")
            elif addresses.id():
                self._look_at_ring(addresses, way)
            else:
                self._look_at_data(addresses, channel, way)

    def _of_list(self, addresses: _Addresses) -> Owners:
        """The owner of the list of pages at an address."""
        page = addresses.address() // PAGE_BYTES
        return next(owners for at, owners in reversed(self._lists) if at == page)

    def _look_at_ring(self, addresses: _Addresses, way: str) -> None:
        id, owner = addresses.id(), addresses.owner()
        # With several pairs the IDs of messages follow those of rings in the same order, behind those of lists of pages.
        of, pair, count = DIRECTIONS[(id - 1) % 2], (id - 1) // 2, self.config.channels
        if count > 1 and self.config.pages and pair >= count:
            pair -= 1
            if pair == count - 1:
                pair = next(
                    number for number, each in self._pairs.items() if each is self._of_list(addresses)
                )
        pair %= count
        wants = self._pairs[pair].rings[of] if pair in self._pairs else 0
        assert owner == wants, (
            f"{way}: an address of the rings of {of} of pair {pair} is of {owner:#x}, not of {wants:#x}"
        )
        self.seen["rings"] += 1

    def _look_at_data(self, addresses: _Addresses, channel: str, way: str) -> None:
        address, owner = addresses.address(), addresses.owner()
        wanted = {
            expected for first, last, expected in self._expected[channel, way] if first <= address <= last
        }
        assert owner in wanted, (
            f"{channel}, {way}: {address:#x} is of {owner:#x}, not of {', '.join(map(hex, wanted)) or 'any descriptor'}"
        )
        self.seen["data"] += 1
