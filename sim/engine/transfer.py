"""What a descriptor must do: the specification of one transfer, without memories, rings or time.

The model of the engine carries transfers out by these rules, and the benches compare the RTL with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import StreamFormat
from cdma.hdl.spec.options import MOST_PAGED, PAGE_BYTES
from cdma.hdl.spec.records import DESCRIPTOR, Mode, Status, shape_from
from cdma.hdl.spec.shape import MAX_DIMENSIONS, Shape
from cdma.sim.codec.container import crc32c
from cdma.sim.codec.headers import from_memory, to_memory
from cdma.sim.codec.model import (
    CODE,
    NONE,
    PADDING,
    TRAILING,
    TRUNCATED,
    PacketReport,
    decode_packet,
    encode_packet,
)
from cdma.sim.codec.number_types import integers_of, words_of
from cdma.sim.codec.quantise import Quantised, dequantise, quantise
from cdma.sim.codec.words import Words, words_to_bytes

from .memory import EVERYBODY, AddressSpace, OwnerRule, stray_owner
from .shaped import list_of, uses_reserved

#: The channels of an engine: from device memory to host memory, compressing, and back.
DIRECTIONS = ("offload", "prefetch")

#: The statuses that stand for the error codes of a codec's report.
_STREAM_STATUS = {
    NONE: Status.OK,
    TRUNCATED: Status.STREAM_TRUNCATED,
    TRAILING: Status.STREAM_TRAILING,
    CODE: Status.STREAM_CODE,
    PADDING: Status.STREAM_PADDING,
}


@dataclass(frozen=True)
class Outcome:
    """How a descriptor ends, and what it writes from its destination on.

    ``crc``: That of the words that passed, with a step of the integers; 0 without a CRC.
    ``range_count``, ``range_first``: The numbers of an offload with a step that are not within the bound.
    """

    status: Status = Status.OK
    bytes_read: int = 0
    literals: int = 0
    address: int = 0
    written: bytes = b""
    crc: int = 0
    range_count: int = 0
    range_first: int = 0
    scattered: int | None = None

    @property
    def bytes_written(self) -> int:
        return len(self.written) if self.scattered is None else self.scattered


def words_in(raw: bytes, form: StreamFormat) -> Words:
    """The words that raw data are to a codec: zeros fill the last one."""
    return from_memory(raw + bytes(-len(raw) % form.raw_bytes), form.word_bits)


def changed(raw: bytes, base: bytes) -> bytes:
    """Raw data XOR as many bytes of a base; the same bytes without one."""
    if not base:
        return raw
    return bytes(np.bitwise_xor(*(np.frombuffer(each, np.uint8, len(raw)) for each in (raw, base))))


class TransferRules:
    """The rules of one channel of an engine. Descriptors are mappings from the names of their fields to values."""

    def __init__(self, config: EngineConfig, direction: str) -> None:
        self.config = config
        self.compressing = direction == "offload"
        self.source, self.sink = ("dev", "host") if self.compressing else ("host", "dev")

    def format(self, mode: int, table: tuple[int, ...]) -> StreamFormat:
        """Returns the stream format of a mode: with the channel's ``table``, or with one zero where there is a table."""
        form = self.config.format
        return form.with_table(table if mode == Mode.FVC else (0,)[: form.table_size(at_run_time=True)])

    def bytes_read(self, descriptor: Mapping[str, int], shape: Shape | None = None) -> int:
        """Returns how many bytes a descriptor reads from its source: without the padding of its ``shape``."""
        if shape is not None and self.compressing:
            return shape.moved
        return descriptor["compressed_length" if self._reads_compressed(descriptor) else "length"]

    def words(self, descriptor: Mapping[str, int]) -> int:
        """Returns how many words of raw data a descriptor has, the last one perhaps in part: with a step its integers are
        words."""
        return -(-descriptor["length"] * 8 // self._length_bits(descriptor))

    def shape(self, extension: Mapping[str, int]) -> Shape | None:
        """Returns the shape that an extension says to this engine; None if it says none."""
        return shape_from(extension, self.config.dimensions)

    @property
    def base_field(self) -> str:
        """The field with the address of a base: one that such a descriptor does not need."""
        return "compressed_length" if self.compressing else "capacity"

    def base(self, descriptor: Mapping[str, int]) -> int | None:
        """Returns the address of the base; None without one."""
        if not (self.config.delta and descriptor["delta"]):
            return None
        return descriptor[self.base_field]

    def capacity(self, descriptor: Mapping[str, int]) -> int:
        """Returns how many bytes a descriptor may write."""
        in_place_of_it = self.base(descriptor) is not None and not self.compressing
        return descriptor["length" if in_place_of_it else "capacity"]

    def refusal(
        self,
        descriptor: Mapping[str, int],
        source: AddressSpace,
        sink: AddressSpace,
        extension: Mapping[str, int] | None = None,
        owners: OwnerRule = EVERYBODY,
    ) -> Outcome | None:
        """Returns the first objection to a descriptor, in the order in which hardware looks; None to carry it out.

        The ``extension`` of one with a shape stands in the place of what the shape is in device memory: from its lowest byte
        to its highest one.
        """
        length, capacity, base = descriptor["length"], self.capacity(descriptor), self.base(descriptor)
        if self._uses_reserved(descriptor):
            return Outcome(Status.RESERVED)
        if extension is not None and uses_reserved(extension):
            return Outcome(Status.RESERVED)
        if descriptor["mode"] > max(Mode):
            return Outcome(Status.RESERVED)
        if not owners.allows(descriptor["owner"]):
            return Outcome(Status.OWNER)
        if status := self._wrong_length(descriptor):
            return Outcome(status)
        paged, host = list_of(descriptor), "destination" if self.compressing else "source"
        if paged and self._host_bytes(descriptor) > MOST_PAGED:
            return Outcome(Status.LENGTH)
        start = {name: descriptor[name] for name in ("source", "destination")}
        size = {"source": self.bytes_read(descriptor), "destination": min(capacity, self._greatest)}
        if extension is not None:
            shape = self.shape(extension)
            options = {"align": self.config.align("dev"), "dimensions": MAX_DIMENSIONS}
            if (
                shape is None
                or shape.length != length
                or shape.objection(**options, writes=not self.compressing)
            ):
                return Outcome(Status.SHAPE)
            end = "source" if self.compressing else "destination"
            start[end], size[end] = start[end] + shape.lowest, shape.span
        length_is_known = not self.compressing or (descriptor["mode"] == Mode.RAW and not descriptor["step"])
        if not capacity or (length_is_known and length > capacity):
            return Outcome(Status.CAPACITY, address=(start["destination"] + capacity) % 2**64)
        ports = {"source": self.source, "destination": self.sink}
        spaces = {"source": source, "destination": sink}
        if base is not None:
            of_device = "source" if self.compressing else "destination"
            start["base"], size["base"] = base, length
            ports["base"], spaces["base"] = ports[of_device], spaces[of_device]
        for name, port in ports.items():
            distance, align = start[name], self.config.align(port)
            if base is not None and name == "base":
                distance, align = base - start[of_device], self.config.base_align
            if distance % align:
                return Outcome(Status.ALIGNMENT, address=start[name] % 2**64)
        if paged:
            # Its first page: what follows is looked at when its turn comes.
            size[host] = 1
        for name, space in spaces.items():
            if start[name] < 0 or not space.allows(start[name], size[name]):
                return Outcome(Status.WINDOW, address=start[name] % 2**64)
        return None

    def _host_bytes(self, descriptor: Mapping[str, int]) -> int:
        """The bytes of host memory that a descriptor may move."""
        return descriptor["capacity"] if self.compressing else self.bytes_read(descriptor)

    def outcome(
        self, descriptor: Mapping[str, int], data: bytes, table: tuple[int, ...], base: bytes = b""
    ) -> Outcome:
        """Returns what a descriptor that is not refused does with the ``data`` at its source, and those at its ``base``.

        Data that do not fit the capacity are written in whole beats: the first beat that would reach past the
        capacity is left out, with all data after it.
        """
        bits = self.config.format.word_bits
        quantised = self._quantised(descriptor, data)
        if self.compressing:
            words = (
                words_in(changed(data, base), self.config.format)
                if quantised is None
                else words_of(quantised.integers, bits)
            )
            result, report = self._compressed(descriptor, words, table)
        else:
            words, report = self._decompressed(descriptor, data, table)
            result = changed(self._restored(descriptor, words), base)
        status, address = _STREAM_STATUS[report.error], 0
        summed = to_memory(words, bits)[: descriptor["length"]]
        crc = crc32c(changed(summed, base)) if self.config.crc else 0
        if len(result) > self.capacity(descriptor):
            beat, start = self.config.data_bits(self.sink) // 8, descriptor["destination"]
            end = (start + self.capacity(descriptor)) // beat * beat
            result = result[: max(0, end - start)]
            if status is Status.OK:
                status, address = Status.CAPACITY, start + len(result)
        if status is Status.OK and descriptor["check_crc"] and crc != descriptor["crc"]:
            status = Status.CRC_MISMATCH
        count, first = (0, 0) if quantised is None else (quantised.reported, quantised.first)
        if status is Status.OK and count:
            status = Status.LOSSY_RANGE
        return Outcome(status, len(data), report.literals, address, result, crc, count, first)

    def _quantised(self, descriptor: Mapping[str, int], data: bytes) -> Quantised | None:
        """What the error-bounded stage makes of the data of an offload with a step."""
        form = self.config.quantisation
        if form is None or not descriptor["step"] or not self.compressing:
            return None
        numbers = np.frombuffer(data, f"<u{form.number_type.bits // 8}")
        return quantise(numbers, descriptor["step"] - form.number_type.bias, form)

    def _restored(self, descriptor: Mapping[str, int], words: Words) -> bytes:
        """The raw data of a prefetch: its words, or what the error-bounded stage makes of them where there is a step."""
        form = self.config.quantisation
        if form is None or not descriptor["step"]:
            return to_memory(words, self.config.format.word_bits)[: descriptor["length"]]
        integers = integers_of(words, form.bits)
        return words_to_bytes(dequantise(integers, descriptor["step"] - form.number_type.bias, form))

    def _uses_reserved(self, descriptor: Mapping[str, int]) -> bool:
        """Whether a descriptor has anything where this engine has no field."""
        if not self.config.dimensions and descriptor["shaped"]:
            return True
        if descriptor["delta"] and (not self.config.delta or descriptor["shaped"]):
            return True
        pages = list_of(descriptor)
        if pages % PAGE_BYTES or pages >> (self.config.host_address_bits if self.config.pages else 0):
            return True
        if stray_owner(descriptor, self.config.records.owner_fields):
            return True
        if not self.config.crc and (descriptor["check_crc"] or descriptor["crc"]):
            return True
        form = self.config.quantisation
        if descriptor["step"] > (0 if form is None else form.greatest_step):
            return True
        return any(descriptor[field.name] for field in DESCRIPTOR if field.reserved)

    @property
    def _greatest(self) -> int:
        """The largest number that a channel counts bytes with. A larger capacity is as good as this one."""
        return (1 << self.config.records.length_bits) - 1

    def _length_bits(self, descriptor: Mapping[str, int]) -> int:
        """Bits of the words of raw data: of numbers with a step."""
        form = self.config.quantisation
        return form.number_type.bits if form and descriptor["step"] else self.config.format.word_bits

    def _whole_bits(self, descriptor: Mapping[str, int]) -> int:
        """Bits of what a length has whole: words, where it is not any number of bytes, or numbers."""
        return 8 if self.config.tail_bits and not descriptor["step"] else self._length_bits(descriptor)

    def _reads_compressed(self, descriptor: Mapping[str, int]) -> bool:
        """Whether the source does not have the bytes of the raw data, but ``compressed_length``."""
        return not self.compressing and bool(descriptor["mode"] != Mode.RAW or descriptor["step"])

    def _wrong_length(self, descriptor: Mapping[str, int]) -> Status | None:
        form = self.config.format
        length, compressed_length = descriptor["length"], descriptor["compressed_length"]
        reads_compressed = self._reads_compressed(descriptor)
        if not length or (reads_compressed and not compressed_length):
            return Status.ZERO_LENGTH
        if length * 8 % self._whole_bits(descriptor) or length > self.config.most_bytes:
            return Status.LENGTH
        if not reads_compressed:
            return Status.LENGTH if compressed_length and self.base(descriptor) is None else None
        integers_bytes = -(-self.words(descriptor) * form.word_bits // 8)
        moves = descriptor["mode"] == Mode.RAW or self.compressing
        if moves and compressed_length != integers_bytes:
            return Status.LENGTH
        if compressed_length * 8 % form.moved_bits or compressed_length > self._greatest:
            return Status.LENGTH
        return None

    def _compressed(
        self, descriptor: Mapping[str, int], words: Words, table: tuple[int, ...]
    ) -> tuple[bytes, PacketReport]:
        """What the codec makes of the words of an offload, or the words themselves."""
        mode = descriptor["mode"]
        if mode == Mode.RAW:
            raw = to_memory(words, self.config.format.word_bits)
            return raw[: descriptor["length"]], PacketReport(0, 0, 0)
        form = self.format(mode, table)
        result = encode_packet(words, form)
        return to_memory(result.words, form.stream_bits), result.report

    def _decompressed(
        self, descriptor: Mapping[str, int], data: bytes, table: tuple[int, ...]
    ) -> tuple[Words, PacketReport]:
        """The words that the codec makes of the data of a prefetch, or that these are."""
        mode, count = descriptor["mode"], self.words(descriptor)
        form = self.format(mode, table)
        if mode == Mode.RAW:
            return words_in(data, form)[:count], PacketReport(0, 0, 0)
        result = decode_packet(from_memory(data, form.stream_bits), count, form, self.config.lanes)
        return result.words, result.report
