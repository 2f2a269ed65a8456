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
        Of the raw bytes that passed, if the engine has a CRC, and otherwise 0.
    """

    status: Status = Status.OK
    bytes_read: int = 0
    literals: int = 0
    address: int = 0
    written: bytes = b""
    crc: int = 0

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
        return descriptor["compressed_length" if self._decompresses(descriptor) else "length"]

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
        length_is_known = descriptor["mode"] == Mode.RAW or not self.compressing
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
        result, report = self._through_codec(descriptor, data, table)
        status, address = _STREAM_STATUS[report.error], 0
        crc = crc32c(data if self.compressing else result) if self.config.crc else 0
        if status is Status.OK and descriptor["check_crc"] and crc != descriptor["crc"]:
            status = Status.CRC_MISMATCH
        if len(result) > descriptor["capacity"]:
            beat, start = self.config.data_bits(self.sink) // 8, descriptor["destination"]
            end = (start + descriptor["capacity"]) // beat * beat
            result = result[: max(0, end - start)]
            if status is Status.OK:
                status, address = Status.CAPACITY, start + len(result)
        return Outcome(status, len(data), report.literals, address, result, crc)

    def _uses_reserved(self, descriptor: Mapping[str, int]) -> bool:
        """Whether a descriptor has anything where this engine has no field."""
        if not self.config.crc and (descriptor["check_crc"] or descriptor["crc"]):
            return True
        return any(descriptor[field.name] for field in DESCRIPTOR if field.reserved)

    def _decompresses(self, descriptor: Mapping[str, int]) -> bool:
        return descriptor["mode"] != Mode.RAW and not self.compressing

    def _wrong_length(self, descriptor: Mapping[str, int]) -> Status | None:
        word, stream_word = self.config.format.word_bits // 8, self.config.format.stream_bits // 8
        length, compressed_length = descriptor["length"], descriptor["compressed_length"]
        decompresses = self._decompresses(descriptor)
        if not length or (decompresses and not compressed_length):
            return Status.ZERO_LENGTH
        if length % word or length > (MAX_BYTES if word > 1 else MAX_BYTES - 1):
            return Status.LENGTH
        if not decompresses:
            return Status.LENGTH if compressed_length else None
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
            count = descriptor["length"] // (form.word_bits // 8)
            result = decode_packet(np.frombuffer(data, stream_dtype(form)), count, form, self.config.lanes)
        return result.words.tobytes(), result.report
