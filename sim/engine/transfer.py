"""What a descriptor must do: the specification of one transfer, without memories, rings or time.

The model of the engine carries transfers out by these rules, and the benches compare the RTL with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import DESCRIPTOR, LENGTH_BITS, MAX_BYTES, Mode, Status
from cdma.hdl.spec.stream_format import StreamFormat
from cdma.sim.codec.model import decode_packet, encode_packet
from cdma.sim.codec.results import CODE, NONE, PADDING, TRAILING, TRUNCATED, PacketReport
from cdma.sim.codec.words import stream_dtype, word_dtype
from cdma.sim.lossy.quantise import Quantised, dequantise, quantise

from .crc import crc32c
from .port import AddressSpace

__all__ = ["DIRECTIONS", "Outcome", "TransferRules"]

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

#: The largest number that a channel counts bytes with. A larger capacity is as good as this one.
_MOST_BYTES = (1 << LENGTH_BITS) - 1


@dataclass(frozen=True)
class Outcome:
    """How a descriptor ends, and what it writes from its destination on.

    ``crc``
        Of the words that passed, if the engine has a CRC, and otherwise 0: of the integers where there is a step.
    ``range_count``, ``range_first``
        The numbers of an offload with a step that are not within the bound.
    """

    status: Status = Status.OK
    bytes_read: int = 0
    literals: int = 0
    address: int = 0
    written: bytes = b""
    crc: int = 0
    range_count: int = 0
    range_first: int = 0

    @property
    def bytes_written(self) -> int:
        """Bytes that are written."""
        return len(self.written)


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

    def bytes_read(self, descriptor: Mapping[str, int]) -> int:
        """Returns how many bytes a descriptor reads from its source."""
        return descriptor["compressed_length" if self._reads_compressed(descriptor) else "length"]

    def words(self, descriptor: Mapping[str, int]) -> int:
        """Returns how many words of raw data a descriptor has: with a step its integers are words."""
        return descriptor["length"] * 8 // self._length_bits(descriptor)

    def refusal(
        self, descriptor: Mapping[str, int], source: AddressSpace, sink: AddressSpace
    ) -> Outcome | None:
        """Returns the first objection to a descriptor, in the order in which hardware looks; None to carry it out."""
        length, capacity = descriptor["length"], descriptor["capacity"]
        if self._uses_reserved(descriptor):
            return Outcome(Status.RESERVED)
        if descriptor["mode"] > max(Mode):
            return Outcome(Status.RESERVED)
        if status := self._wrong_length(descriptor):
            return Outcome(status)
        length_is_known = not self.compressing or (descriptor["mode"] == Mode.RAW and not descriptor["step"])
        if not capacity or (length_is_known and length > capacity):
            return Outcome(Status.CAPACITY, address=(descriptor["destination"] + capacity) % 2**64)
        for name, port in (("source", self.source), ("destination", self.sink)):
            if descriptor[name] % self.config.align(port):
                return Outcome(Status.ALIGNMENT, address=descriptor[name])
        if not source.allows(descriptor["source"], self.bytes_read(descriptor)):
            return Outcome(Status.WINDOW, address=descriptor["source"])
        if not sink.allows(descriptor["destination"], min(capacity, _MOST_BYTES)):
            return Outcome(Status.WINDOW, address=descriptor["destination"])
        return None

    def outcome(self, descriptor: Mapping[str, int], data: bytes, table: tuple[int, ...]) -> Outcome:
        """Returns what a descriptor that is not refused does with the ``data`` at its source.

        Data that do not fit the capacity are written in whole beats: the first beat that would reach past the
        capacity is left out, with all data after it.
        """
        quantised = self._quantised(descriptor, data)
        words = data if quantised is None else quantised.integers.tobytes()
        result, report = self._through_codec(descriptor, words, table)
        status, address = _STREAM_STATUS[report.error], 0
        crc = crc32c(words if self.compressing else result) if self.config.crc else 0
        if status is Status.OK and descriptor["check_crc"] and crc != descriptor["crc"]:
            status = Status.CRC_MISMATCH
        result = self._restored(descriptor, result)
        if len(result) > descriptor["capacity"]:
            beat, start = self.config.data_bits(self.sink) // 8, descriptor["destination"]
            end = (start + descriptor["capacity"]) // beat * beat
            result = result[: max(0, end - start)]
            if status is Status.OK:
                status, address = Status.CAPACITY, start + len(result)
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

    def _restored(self, descriptor: Mapping[str, int], words: bytes) -> bytes:
        """What the error-bounded stage makes of the words of a prefetch with a step."""
        form = self.config.quantisation
        if form is None or not descriptor["step"] or self.compressing:
            return words
        integers = np.frombuffer(words, f"<i{form.bits // 8}")
        return dequantise(integers, descriptor["step"] - form.number_type.bias, form).tobytes()

    def _uses_reserved(self, descriptor: Mapping[str, int]) -> bool:
        """Whether a descriptor has anything where this engine has no field."""
        if not self.config.crc and (descriptor["check_crc"] or descriptor["crc"]):
            return True
        form = self.config.quantisation
        if descriptor["step"] > (0 if form is None else form.greatest_step):
            return True
        return any(descriptor[field.name] for field in DESCRIPTOR if field.reserved)

    def _length_bits(self, descriptor: Mapping[str, int]) -> int:
        """Bits of what a length counts: numbers with a step, otherwise words."""
        form = self.config.quantisation
        return form.number_type.bits if form and descriptor["step"] else self.config.format.word_bits

    def _reads_compressed(self, descriptor: Mapping[str, int]) -> bool:
        """Whether the source does not have the bytes of the raw data, but ``compressed_length``."""
        return not self.compressing and bool(descriptor["mode"] != Mode.RAW or descriptor["step"])

    def _decompresses(self, descriptor: Mapping[str, int]) -> bool:
        return descriptor["mode"] != Mode.RAW and not self.compressing

    def _wrong_length(self, descriptor: Mapping[str, int]) -> Status | None:
        word, stream_word = self.config.format.word_bits // 8, self.config.format.stream_bits // 8
        length, compressed_length = descriptor["length"], descriptor["compressed_length"]
        reads_compressed = self._reads_compressed(descriptor)
        if not length or (reads_compressed and not compressed_length):
            return Status.ZERO_LENGTH
        unit = self._length_bits(descriptor) // 8
        if length % unit or length > (MAX_BYTES if word > 1 else MAX_BYTES - 1):
            return Status.LENGTH
        if not reads_compressed:
            return Status.LENGTH if compressed_length else None
        if not self._decompresses(descriptor) and compressed_length != length // unit * word:
            return Status.LENGTH
        return Status.LENGTH if compressed_length % stream_word or compressed_length > _MOST_BYTES else None

    def _through_codec(
        self, descriptor: Mapping[str, int], data: bytes, table: tuple[int, ...]
    ) -> tuple[bytes, PacketReport]:
        mode = descriptor["mode"]
        if mode == Mode.RAW:
            return data, PacketReport(0, 0, 0)
        form = self.format(mode, table)
        if self.compressing:
            result = encode_packet(np.frombuffer(data, word_dtype(form)), form)
        else:
            count = self.words(descriptor)
            result = decode_packet(np.frombuffer(data, stream_dtype(form)), count, form, self.config.lanes)
        return result.words.tobytes(), result.report
