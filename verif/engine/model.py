"""What a descriptor must do: the golden model of one transfer, from the model of the codec."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, Mode, RecordField, Status
from cdma.hdl.spec.stream_format import StreamFormat
from cdma.sim.codec.model import decode_packet, encode_packet
from cdma.sim.codec.words import words_from_bytes, words_to_bytes

__all__ = ["Expected", "Transfer", "format_for", "pack", "random_words", "transfer", "unpack"]

_STREAM_ERRORS = (Status.OK, Status.STREAM_TRUNCATED, Status.STREAM_TRAILING, Status.STREAM_CODE)


def pack(record: tuple[RecordField, ...], **values: int) -> bytes:
    """The 64 bytes of a record."""
    word, bit = 0, 0
    for part in record:
        value = values.pop(part.name, 0)
        assert 0 <= value < 1 << part.bits, (part.name, value)
        word |= value << bit
        bit += part.bits
    assert not values, values
    return word.to_bytes(bit // 8, "little")


def unpack(record: tuple[RecordField, ...], data: bytes) -> dict[str, int]:
    """The fields of a record."""
    word, bit, values = int.from_bytes(data, "little"), 0, {}
    for part in record:
        values[part.name] = word >> bit & ((1 << part.bits) - 1)
        bit += part.bits
    return values


def format_for(config: EngineConfig, mode: int, table: tuple[int, ...]) -> StreamFormat:
    """The stream format of a mode, with the channel's table."""
    values = table if mode == Mode.FVC else (0,) * config.codec.table_size
    return config.format.with_table(values)


@dataclass
class Expected:
    """What the completion must say, and what must be in memory."""

    status: int = Status.OK
    bytes_read: int = 0
    bytes_written: int = 0
    literals: int = 0
    address: int = 0
    written: bytes = b""


@dataclass
class Transfer:
    """A descriptor, the data at its source, and what must come of it."""

    descriptor: dict[str, int]
    source: bytes
    expected: Expected
    completion: dict[str, int] = field(default_factory=dict)

    def record(self) -> bytes:
        """The descriptor as it lies in memory."""
        return pack(DESCRIPTOR, **self.descriptor)

    def check(self, completion: bytes) -> int:
        """Compares the completion with what it must be; the number of fields compared."""
        got = unpack(COMPLETION, completion)
        self.completion = got
        want = {
            "tag": self.descriptor["tag"],
            "status": int(self.expected.status),
            "bytes_read": self.expected.bytes_read,
            "bytes_written": self.expected.bytes_written,
            "literals": self.expected.literals,
            "address": self.expected.address,
            "reserved": 0,
            "reserved_status": 0,
        }
        wrong = {name: (hex(got[name]), hex(value)) for name, value in want.items() if got[name] != value}
        if wrong:
            status = Status(got["status"]).name if got["status"] in list(Status) else got["status"]
            raise AssertionError(f"completion of {self.descriptor}: got {status}; (got, want) {wrong}")
        return len(want)


def transfer(
    config: EngineConfig,
    *,
    compressing: bool,
    mode: int,
    raw: bytes,
    table: tuple[int, ...],
    source: int,
    destination: int,
    tag: int,
    capacity: int | None = None,
    stream: bytes | None = None,
    interrupt: int = 0,
) -> Transfer:
    """A transfer of ``raw`` data, or, for prefetch, of any ``stream`` that claims to be such.

    ``capacity`` is by default just what is needed.
    """
    form = format_for(config, mode, table)
    words = words_from_bytes(raw, form)
    count = len(words)
    expected = Expected()
    compressed_length = 0
    if mode == Mode.RAW:
        data = result = raw
    elif compressing:
        data = raw
        packet = encode_packet(words, form)
        result = words_to_bytes(packet.words)
        expected.literals = packet.report.literals
    else:
        data = words_to_bytes(encode_packet(words, form).words) if stream is None else stream
        compressed_length = len(data)
        packet = decode_packet(words_from_bytes(data, form), count, form, config.lanes)
        result = words_to_bytes(packet.words)
        expected.literals = packet.report.literals
        expected.status = _STREAM_ERRORS[packet.report.error]
    if capacity is None:
        capacity = len(result) if compressing else len(raw)
    expected.bytes_read = len(data)
    if compressing and mode != Mode.RAW and len(result) > capacity:
        beat = config.host_data_bits // 8
        fits = max(0, (destination + capacity) // beat * beat - destination)
        expected.status, expected.address = Status.CAPACITY, destination + fits
        result = result[:fits]
    expected.bytes_written, expected.written = len(result), result
    descriptor = {
        "source": source,
        "destination": destination,
        "length": len(raw),
        "capacity": capacity,
        "compressed_length": compressed_length,
        "tag": tag,
        "mode": int(mode),
        "interrupt": interrupt,
    }
    return Transfer(descriptor, data, expected)


def random_words(rng: np.random.Generator, count: int, config: EngineConfig, table: tuple[int, ...]) -> bytes:
    """``count`` words of some density: zeros, entries of the table, and anything."""
    bits = config.format.word_bits
    density = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    words = rng.integers(1, 1 << bits, count)
    common = rng.choice(np.array([0, *table]), count)
    return words_to_bytes(np.where(rng.random(count) < density, words, common).astype(f"u{bits // 8}"))
