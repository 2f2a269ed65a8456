"""Transfers for the bench: a descriptor, the data at its source, and the outcome by the specification."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.hdl.spec.options import packed_pages
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, Mode, Status
from cdma.sim.codec.container import crc32c
from cdma.sim.codec.headers import to_memory
from cdma.sim.codec.model import encode_packet
from cdma.sim.codec.number_types import words_of
from cdma.sim.codec.quantise import quantise
from cdma.sim.codec.words import Words, rotated, word_dtype
from cdma.sim.engine.memory import pack, unpack
from cdma.sim.engine.transfer import Outcome, TransferRules, changed, words_in

from .memory import AROUND, GUARD, Memory, Place


@dataclass
class Pages:
    """Host memory of a transfer in pages.

    ``field``: The field of the descriptor with the first page.
    ``runs``: Addresses and bytes, in order, each within a page.
    ``list_at``: The address of the list of other pages, in ``memory``.
    """

    field: str
    runs: list[tuple[int, int]]
    list_at: int
    memory: Memory

    def __post_init__(self) -> None:
        self.move(0)

    def move(self, step: int) -> None:
        """Moves the pages by ``step`` bytes, and writes their list."""
        self.runs = [(address + step, count) for address, count in self.runs]
        self.memory.write(self.list_at, packed_pages([address for address, _ in self.runs[1:]]))

    def place(self, position: int) -> int:
        """The address of byte ``position`` of all pages, or the one after the last."""
        for address, count in self.runs[:-1]:
            if position < count:
                return address + position
            position -= count
        return self.runs[-1][0] + position


@dataclass
class Transfer:
    """A descriptor, the data at its source, and the outcome that the specification demands.

    ``entries``: Entries of a ring.
    ``pages``: The pages in host memory, if it has a list.
    ``places``: Its allocated memory, until it is checked.
    ``lowest``: Where its data begin, relative to the source and the destination of its descriptor.
    ``base``, ``base_field``: The bytes of its base, if it has one, and the field of the descriptor with their address.
    """

    descriptor: dict[str, int]
    source: bytes
    expected: Outcome
    completion: dict[str, int] = field(default_factory=dict)
    pages: Pages | None = None
    places: list[Place] = field(default_factory=list)
    base: bytes = b""
    base_field: str = ""
    entries: ClassVar[int] = 1

    @property
    def lowest(self) -> dict[str, int]:
        return {"source": 0, "destination": 0}

    @property
    def device_field(self) -> str:
        """The field with the address in device memory, of a transfer with a base."""
        return "destination" if self.base_field == "capacity" else "source"

    @property
    def capacity(self) -> int:
        """Bytes that may be written."""
        return self.descriptor["length" if self.base_field == "capacity" else "capacity"]

    @property
    def room(self) -> int:
        """Bytes at the destination, from the lowest one on, that are checked."""
        return self.capacity

    def record(self) -> bytes:
        return pack(DESCRIPTOR, self.descriptor)

    def move(self, source: int, destination: int) -> None:
        """Moves source and destination by whole beats, and the base as what lies beside it in device memory."""
        self.descriptor["source"] += source
        self.descriptor["destination"] += destination
        if self.base:
            self.descriptor[self.base_field] += source if self.device_field == "source" else destination
        if self.pages is not None:
            self.pages.move(source if self.pages.field == "source" else destination)
        if self.expected.status == Status.CAPACITY:
            self.expected = replace(self.expected, address=self.expected.address + destination)

    def wrong(self, completion: Mapping[str, int]) -> dict[str, tuple[int, int]]:
        """The fields of a completion that differ from the expected: actual and expected value."""
        return {
            name: (completion[name], value)
            for name, value in self._wanted().items()
            if completion[name] != value
        }

    def _wanted(self) -> dict[str, int]:
        return {
            "tag": self.descriptor["tag"],
            "status": int(self.expected.status),
            "bytes_read": self.expected.bytes_read,
            "bytes_written": self.expected.bytes_written,
            "literals": self.expected.literals,
            "address": self.expected.address,
            "crc": self.expected.crc,
            "range_count": self.expected.range_count,
            "range_first": self.expected.range_first,
            "reserved": 0,
            "reserved_status": 0,
        }

    def check(self, completion: bytes) -> int:
        """Compares a completion with the expected outcome; the number of fields compared."""
        got = self.completion = unpack(COMPLETION, completion)
        wrong = {name: tuple(map(hex, values)) for name, values in self.wrong(got).items()}
        if wrong:
            status = Status(got["status"]).name if got["status"] in list(Status) else got["status"]
            raise AssertionError(f"completion of {self.descriptor}: got {status}; (got, want) {wrong}")
        return len(self._wanted())

    def writable(self) -> list[tuple[int, int]]:
        """What may be written: offset from the destination, and bytes."""
        return [(0, self.capacity)]

    def left(self) -> list[tuple[int, int]]:
        """What an early end leaves unwritten: offset from the lowest byte, and bytes."""
        written = len(self.expected.written)
        return [(written, self.descriptor["length"] - written)]

    def image(self) -> bytes:
        """The expected destination, with guard bytes :data:`AROUND` it."""
        written, guard = self.expected.written, bytes([GUARD])
        return guard * AROUND + written + guard * (self.capacity - len(written) + AROUND)


def difference(got: bytes, image: bytes) -> str:
    """How a destination and the bytes :data:`AROUND` it differ from the ``image``; empty if they do not."""
    if got == image:
        return ""
    at = next(index for index in range(len(image)) if got[index] != image[index])
    return f"byte {at - AROUND} of the destination is {got[at]:#x}, not {image[at]:#x}"


def transfer(
    config: EngineConfig,
    direction: str,
    *,
    mode: int,
    raw: bytes,
    table: tuple[int, ...],
    source: int,
    destination: int,
    tag: int,
    capacity: int | None = None,
    stream: bytes | None = None,
    interrupt: int = 0,
    crc_off: int | None = None,
    step: int = 0,
    base: bytes = b"",
) -> Transfer:
    """A transfer of ``raw`` data, or a prefetch of any ``stream`` in place of the compressed data.

    The stream of one with a ``base`` has the data XOR that, and the address of the base is 0. ``capacity`` is by default
    what the result needs. With ``crc_off``, the expected CRC has these bits wrong. With a ``step``, ``raw`` are numbers,
    and a prefetch has their integers.
    """
    rules = TransferRules(config, direction)
    reads_compressed = direction == "prefetch" and bool(mode != Mode.RAW or step)
    form = rules.format(mode, table)
    words = _integers(raw, step, config) if step else words_in(changed(raw, base), form)
    in_memory = to_memory(words, form.word_bits)[: len(raw)]
    data = in_memory if base and direction == "prefetch" else raw
    if stream is not None:
        data = stream
    elif reads_compressed:
        data = in_memory if mode == Mode.RAW else _encoded(words, form)
    descriptor = {
        "source": source,
        "destination": destination,
        "length": len(raw),
        "capacity": (1 << 64) - 1 if capacity is None else capacity,
        "compressed_length": len(data) if reads_compressed else 0,
        "tag": tag,
        "mode": int(mode),
        "interrupt": interrupt,
        "check_crc": int(crc_off is not None),
        "crc": 0 if crc_off is None else crc32c(changed(in_memory, base)) ^ crc_off,
        "step": step,
        "delta": int(bool(base)),
    }
    expected = rules.outcome(descriptor, data, table, base)
    if capacity is None:
        # A stream with an error gives fewer bytes than the descriptor asks for.
        descriptor["capacity"] = len(raw) if direction == "prefetch" else expected.bytes_written
    made = Transfer(descriptor, data, expected, base=base)
    if base:
        made.base_field = rules.base_field
    return made


def stream_of(raw: bytes, form: StreamFormat) -> bytes:
    return _encoded(words_in(raw, form), form)


def _encoded(words: Words, form: StreamFormat) -> bytes:
    return to_memory(encode_packet(words, form).words, form.stream_bits)


def _integers(raw: bytes, step: int, config: EngineConfig) -> Words:
    form = config.quantisation
    assert form is not None
    numbers = np.frombuffer(raw, f"<u{form.number_type.bits // 8}")
    return words_of(quantise(numbers, step - form.number_type.bias, form).integers, form.bits)


def random_step(rng: random.Random, config: EngineConfig) -> int:
    """A step as a descriptor has it: the least, the greatest, or any."""
    form = config.quantisation
    assert form is not None
    return rng.choice((1, form.greatest_step, rng.randint(1, form.greatest_step)))


def random_numbers(
    rng: np.random.Generator, count: int, config: EngineConfig, step: int, *, beyond: float = 0.0
) -> bytes:
    """``count`` numbers of a random density around a step; a share ``beyond`` is anything: too large, infinite and NaN
    too."""
    form = config.quantisation
    assert form is not None
    kind = form.number_type
    # From numbers that vanish up to half the limit.
    stored = rng.integers(max(0, step - 4), step + form.bits - 2, count)
    fraction = rng.integers(0, 1 << kind.fraction_bits, count)
    fraction *= rng.random(count) < rng.choice((0.0, 0.5, 1.0))
    numbers = rng.integers(0, 2, count) << (kind.bits - 1) | stored << kind.fraction_bits | fraction
    numbers *= rng.random(count) < rng.choice((0.1, 0.5, 1.0))
    special = ((1 << kind.exponent_bits) - 1) << kind.fraction_bits
    others = np.where(rng.random(count) < 0.5, rng.integers(0, 1 << kind.bits, count), special)
    chosen = np.where(rng.random(count) < beyond, others, numbers)
    return chosen.astype(f"<u{kind.bits // 8}").tobytes()


def base_like(rng: np.random.Generator, raw: bytes) -> bytes:
    """A base of these data: with some, none or all of their bytes."""
    data = np.frombuffer(raw, np.uint8)
    others = rng.integers(0, 256, len(data), np.uint8)
    return np.where(rng.random(len(data)) < rng.choice((0.0, 0.02, 0.3, 1.0)), others, data).tobytes()


def random_words(rng: np.random.Generator, count: int, config: EngineConfig, table: tuple[int, ...]) -> bytes:
    """``count`` words of a random density: zeros, those of the table, and any others. A zero follows an odd number of
    words of 4 bits."""
    form = config.format
    density = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    words = rng.integers(1, 1 << form.word_bits, count).astype(word_dtype(form))
    common = rng.choice(np.array([0, *table]), count).astype(word_dtype(form))
    if form.field_bits:
        common = _with_fields(rng, common, form)
    return to_memory(np.where(rng.random(count) < density, words, common), form.word_bits)


def _with_fields(rng: np.random.Generator, fields: Words, form: StreamFormat) -> Words:
    """Words that have these fields, and often no other bit."""
    assert isinstance(form, Format)
    others = form.word_bits - form.field_bits
    rest = rng.integers(0, 1 << others, len(fields)) * (rng.random(len(fields)) < rng.choice((0.0, 0.5, 1.0)))
    return rotated(np.left_shift(fields, others) | rest.astype(fields.dtype), form, -1)
