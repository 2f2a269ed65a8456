"""What an engine did in a run, from its ports alone: descriptors, the bursts that belong to them, completions, tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, Mode, RecordField, Status
from cdma.sim.codec.packed import from_memory
from cdma.sim.engine.descriptors import unpack
from cdma.sim.engine.transfer import DIRECTIONS, TransferRules
from cdma.verif.simulator.passage import Passage, compressed_tensor, copied_tensor, corruption, window_boxes
from cdma.verif.simulator.view import Box, Tensor

from .transactions import Burst

__all__ = ["Job", "Record", "jobs_of", "status_name"]


@dataclass(frozen=True)
class Record:
    """A descriptor or a completion that passed: the cycles of its beats, its address, and its fields."""

    first: int
    last: int
    address: int
    fields: Mapping[str, int]
    resp: int


@dataclass
class Job:
    """A descriptor, what was moved for it, and its completion if there was one."""

    channel: str
    descriptor: Record
    completion: Record | None = None
    reads: list[Burst] = field(default_factory=list)
    writes: list[Burst] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The channel and the tag."""
        return f"{self.channel} {self.descriptor.fields['tag']:#x}"

    @property
    def status(self) -> int:
        """How it ended; that it ended well, as long as it has not ended."""
        return self.completion.fields["status"] if self.completion else int(Status.OK)

    def tensor(self, config: EngineConfig) -> Tensor | None:
        """Where its words were. None with a step, with a table or with words of less than a byte, and if nothing moved."""
        rules = TransferRules(config, self.channel)
        fields, bits = self.descriptor.fields, config.format.word_bits
        if fields["step"] or fields["mode"] not in (Mode.RAW, Mode.ZVC) or bits < 8 or not self.reads:
            return None
        places = ("device memory", "in the engine", "host memory")
        places = places if rules.compressing else (places[2], places[1], places[0])
        title = f"{self.name}: {rules.words(fields)} words, {Mode(fields['mode']).name}"
        if fields["mode"] == Mode.RAW:
            taken = self._taken(fields["length"], bits)
            given = _passage(self.writes, fields["destination"], fields["length"], bits)
            return copied_tensor(title, places, taken, given.cycles.tolist(), (bits, bits))
        raw, stream = self._sides(config)
        return compressed_tensor(
            title, places, raw, stream, rules.format(Mode.ZVC, ()), compresses=rules.compressing
        )

    def windows(self, config: EngineConfig) -> list[Box]:
        """The windows of its compressed stream as they pass the port of host memory."""
        rules = TransferRules(config, self.channel)
        fields = self.descriptor.fields
        if fields["step"] or fields["mode"] != Mode.ZVC or config.format.word_bits < 8:
            return []
        form, words = rules.format(Mode.ZVC, ()), rules.words(fields)
        raw, stream = self._sides(config)
        whole = not rules.compressing and len(stream.cycles) and stream.cycles.min() >= 0
        error = corruption(stream.words, words, form) if whole else None
        return window_boxes(stream, raw.words, words, form, error)

    def _sides(self, config: EngineConfig) -> tuple[Passage, Passage]:
        """The raw words and those of the stream."""
        form, fields = config.format, self.descriptor.fields
        if self.channel == "offload":
            length = _reach(self.writes, fields["destination"])
            stream = _passage(self.writes, fields["destination"], length, form.stream_bits)
            return self._taken(fields["length"], form.word_bits), stream
        length = min(fields["length"], _reach(self.writes, fields["destination"]))
        raw = _passage(self.writes, fields["destination"], length, form.word_bits)
        return raw, self._taken(fields["compressed_length"], form.stream_bits)

    def _taken(self, length: int, bits: int) -> Passage:
        return _passage(self.reads, self.descriptor.fields["source"], length, bits)


def jobs_of(config: EngineConfig, host: Sequence[Burst], dev: Sequence[Burst]) -> list[Job]:
    """The descriptors of a run by the order of their fetches, with the bursts on both ports that belong to them.

    On the host port data have ID 0, and the rings of offload and prefetch 1 and 2.
    """
    jobs: list[Job] = []
    for id_, channel in enumerate(DIRECTIONS, 1):
        rings = [burst for burst in host if burst.id == id_]
        own = [Job(channel, record) for record in _records(rings, DESCRIPTOR, write=False)]
        waiting = list(own)
        for record in _records(rings, COMPLETION, write=True):
            job = next((job for job in waiting if job.descriptor.fields["tag"] == record.fields["tag"]), None)
            if job is not None:
                job.completion = record
                waiting.remove(job)
        jobs += own
    data = [burst for burst in host if burst.id == 0]
    for job in jobs:
        rules = TransferRules(config, job.channel)
        sides = {"host": data, "dev": dev}
        fields = job.descriptor.fields
        job.reads = _own(sides[rules.source], job, fields["source"], rules.bytes_read(fields), write=False)
        job.writes = _own(sides[rules.sink], job, fields["destination"], fields["capacity"], write=True)
    return sorted(jobs, key=lambda job: job.descriptor.first)


def status_name(status: int) -> str:
    """What a status is called."""
    return Status(status).name if status in list(Status) else str(status)


def _records(bursts: Iterable[Burst], kind: tuple[RecordField, ...], *, write: bool) -> list[Record]:
    """The records that bursts have, each of 64 bytes."""
    records = []
    for burst in bursts:
        data = burst.data
        if burst.write != write:
            continue
        for start in range(0, len(data) - RECORD_BYTES + 1, RECORD_BYTES):
            address = burst.address + start
            cycles = [
                piece.cycle
                for piece in burst.pieces
                if address - len(piece.data) < piece.address < address + RECORD_BYTES
            ]
            fields = unpack(kind, data[start : start + RECORD_BYTES])
            records.append(Record(cycles[0], cycles[-1], address, fields, burst.resp))
    return records


def _own(bursts: Iterable[Burst], job: Job, start: int, length: int, *, write: bool) -> list[Burst]:
    """The bursts within an area, between the fetch of a descriptor and its completion."""
    end = job.completion.last if job.completion else None
    return [
        burst
        for burst in bursts
        if burst.write == write
        and start - burst.size < burst.address < start + length
        and burst.first >= job.descriptor.last
        and (end is None or burst.first <= end)
    ]


def _reach(bursts: Iterable[Burst], start: int) -> int:
    """How many bytes from an address on have passed."""
    return max(
        (piece.address + len(piece.data) - start for burst in bursts for piece in burst.pieces), default=0
    )


def _passage(bursts: Iterable[Burst], start: int, length: int, bits: int) -> Passage:
    """The words of an area, each with the cycle in which the last of its bytes passed."""
    data, cycles = bytearray(length), np.full(length, -1, np.int64)
    for burst in bursts:
        for piece in burst.pieces:
            first, last = max(piece.address, start), min(piece.address + len(piece.data), start + length)
            if first < last:
                data[first - start : last - start] = piece.data[first - piece.address : last - piece.address]
                cycles[first - start : last - start] = piece.cycle
    size = bits // 8
    whole = cycles[: length // size * size].reshape(-1, size)
    passed = np.where((whole >= 0).all(axis=1), whole.max(axis=1, initial=-1), -1)
    return Passage(from_memory(bytes(data), bits), passed)
