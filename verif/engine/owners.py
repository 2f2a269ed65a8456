"""The owner of each address, objections of the C++ bench as exceptions, and a check of completions by the documents alone.

The bench expects what the specification in :mod:`cdma.sim.engine.transfer` computes. A mistake in the specification
would show in no comparison with it, so this check follows ``docs/engine.md`` and uses nothing of the specification or
the codec's model.
"""

from __future__ import annotations

import ctypes
import random
from collections import deque
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, NoReturn

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import ENTRY_BYTES, OWNER_PORTS, PAGE_BYTES, owner_mask
from cdma.hdl.spec.records import DESCRIPTOR, LENGTH_BITS, RECORD_BYTES, SHAPE_RECORD, Mode, Status
from cdma.hdl.spec.stage import NUMBERS
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


_NOTHING_TRANSFERRED = (
    Status.RESERVED, Status.ZERO_LENGTH, Status.LENGTH, Status.ALIGNMENT, Status.WINDOW, Status.SHAPE,
)  # fmt: skip
_STREAM_ERRORS = (Status.STREAM_TRUNCATED, Status.STREAM_TRAILING, Status.STREAM_CODE, Status.STREAM_PADDING)


def check_promises(
    config: EngineConfig,
    channel: str,
    descriptor: Mapping[str, int],
    completion: Mapping[str, int],
    moved: int | None = None,
) -> None:
    """Raises :class:`AssertionError` where a completion breaks a promise to the software that reads it.

    ``moved``: Bytes that a shape has in device memory; None without a shape.
    """
    status, read, written = (completion[name] for name in ("status", "bytes_read", "bytes_written"))
    length, capacity = descriptor["length"], descriptor["capacity"]
    if descriptor.get("delta") and channel == "prefetch":
        capacity = length
    device = length if moved is None else moved
    raw = descriptor["mode"] == Mode.RAW
    word_bits = config.format.word_bits
    counted = config.quantisation and descriptor["step"]
    words = -(-length * 8 // (NUMBERS[config.lossy].bits if counted else word_bits))
    end = descriptor["destination"] + written
    beat = (config.host_data_bits if channel == "offload" else config.dev_data_bits) // 8

    def promise(kept: bool, sentence: str) -> None:
        assert kept, f"{sentence}: {dict(descriptor)} completed with {dict(completion)}"

    promise(completion["tag"] == descriptor["tag"], "a completion has the tag of its descriptor")
    promise(written <= capacity, "nothing is written past the capacity")
    promise(not raw or not completion["literals"], "a raw copy has no literals")
    if status in _NOTHING_TRANSFERRED:
        promise(
            read == written == completion["literals"] == 0, "of a refused descriptor nothing is transferred"
        )
    if status == Status.CAPACITY and (channel == "prefetch" or (raw and not descriptor["step"])):
        promise(read == written == 0, "a raw copy or a prefetch that cannot fit is refused at once")
        promise(
            moved is not None or completion["address"] == descriptor["destination"] + capacity,
            "the address is past the capacity",
        )
    elif status == Status.CAPACITY:
        listed = bool(descriptor.get("pages_low") or descriptor.get("pages_high"))
        promise(listed or completion["address"] == end, "the address is the first byte that was not written")
        promise(not written or end % beat == 0, "whole beats are written up to the capacity")
        promise(capacity - written < beat, "every whole beat within the capacity is written")
    count, first = completion["range_count"], completion["range_first"]
    promise(not count or bool(descriptor["step"] and channel == "offload"), "only a quantiser counts numbers")
    promise(first < words if count else not first, "the first number that is counted is one of the tensor's")
    promise(status != Status.OK or not count, "numbers that are not within the bound are never silent")
    promise(status != Status.LOSSY_RANGE or bool(count), "a range that is reported has a number")
    if status in (Status.OK, Status.LOSSY_RANGE):
        promise(completion["address"] == 0, "a success has no address")
        if raw and not descriptor["step"]:
            in_device, in_host = (read, written) if channel == "offload" else (written, read)
            promise((in_device, in_host) == (device, length), "a raw copy moves its length")
        elif channel == "prefetch":
            promise(read == descriptor["compressed_length"], "a prefetch reads the compressed length")
            promise(written == device, "a prefetch writes the raw length")
        else:
            promise(read == device, "an offload reads the raw length")
            most = -(-words * word_bits // 8) if raw else config.format.bound_bytes(words)
            promise(0 < written <= most, "a stream is within its bound")
    if status in _STREAM_ERRORS:
        promise(channel == "prefetch" and not raw, "only a decompressor finds errors in a stream")
        promise(written <= length, "no more words are written than the descriptor asks for")


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
