"""How a run of an engine is shown, from its ports alone: descriptors, their bursts, completions, tensors, and stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from vcd.gtkw import GTKWColor

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import reset_of
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, Mode, RecordField, Status
from cdma.hdl.spec.registers.map import register_map
from cdma.sim.codec.headers import from_memory
from cdma.sim.engine.memory import unpack
from cdma.sim.engine.transfer import DIRECTIONS, TransferRules
from cdma.verif.simulator.page import Box, Event, Group, Line, Names, Row, Tensor, View, lines_of
from cdma.verif.simulator.passage import (
    Passage,
    compressed_tensor,
    copied_tensor,
    corruption,
    level_lines,
    window_boxes,
)
from cdma.verif.simulator.vcd_trace import Trace

from .transactions import Access, Burst, accesses_of, bursts_of


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
        return f"{self.channel} {self.descriptor.fields['tag']:#x}"

    @property
    def status(self) -> int:
        """The status; OK as long as it has not ended."""
        return self.completion.fields["status"] if self.completion else int(Status.OK)

    def tensor(self, config: EngineConfig) -> Tensor | None:
        """Its words; None with a step, a table or words of less than a byte, and if nothing moved."""
        rules = TransferRules(config, self.channel)
        fields, bits = self.descriptor.fields, config.format.word_bits
        if fields["step"] or fields["mode"] not in (Mode.RAW, Mode.ZVC) or bits < 8 or not self.reads:
            return None
        places = ("device memory", "in the engine", "host memory")
        places = places if rules.compressing else (places[2], places[1], places[0])
        title = f"{self.name}: {rules.words(fields)} words, {Mode(fields['mode']).name}"
        if fields["mode"] == Mode.RAW:
            taken = self._raw_passage(fields["length"], bits)
            written = _passage(self.writes, fields["destination"], fields["length"], bits)
            return copied_tensor(title, places, taken, written.cycles.tolist(), (bits, bits))
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
        form, fields = config.format, self.descriptor.fields
        if self.channel == "offload":
            length = _reach(self.writes, fields["destination"])
            stream = _passage(self.writes, fields["destination"], length, form.stream_bits)
            return self._raw_passage(fields["length"], form.word_bits), stream
        length = min(fields["length"], _reach(self.writes, fields["destination"]))
        raw = _passage(self.writes, fields["destination"], length, form.word_bits)
        return raw, self._raw_passage(fields["compressed_length"], form.stream_bits)

    def _raw_passage(self, length: int, bits: int) -> Passage:
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
        job.writes = _own(sides[rules.sink], job, fields["destination"], rules.capacity(fields), write=True)
    return sorted(jobs, key=lambda job: job.descriptor.first)


def status_name(status: int) -> str:
    return Status(status).name if status in list(Status) else str(status)


def _records(bursts: Iterable[Burst], kind: tuple[RecordField, ...], *, write: bool) -> list[Record]:
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
    """The bytes from an address on that have passed."""
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


#: What AXI's responses, statuses and modes are called.
_RESPONSES = Names({0: "OKAY", 1: "EXOKAY", 2: "SLVERR", 3: "DECERR"}, frozenset({2, 3}))
_STATUSES = Names({int(status): status.name for status in Status}, frozenset(map(int, Status)) - {0})
_MODES = Names({int(mode): mode.name for mode in Mode})

#: The fields of an AXI channel that are shown, and those of a descriptor and of a completion.
_FIELDS = ("valid", "ready", "id", "addr", "len", "data", "strb", "last", "resp")
_DESCRIPTOR = ("source", "destination", "length", "capacity", "compressed_length", "tag", "mode")
_COMPLETION = ("tag", "status", "address", "bytes_read", "bytes_written", "literals", "cycles")

#: Statuses that the descriptor itself is to blame for, and those that its stream is.
_DESCRIPTOR_FAULTS = range(Status.RESERVED, Status.WINDOW + 1)
_STREAM_FAULTS = (
    Status.STREAM_TRUNCATED,
    Status.STREAM_TRAILING,
    Status.STREAM_CODE,
    Status.STREAM_PADDING,
    Status.CRC_MISMATCH,
)
_BUS_FAULTS = (Status.READ_SLVERR, Status.READ_DECERR, Status.WRITE_SLVERR, Status.WRITE_DECERR)


def engine_view(config: EngineConfig, trace: Trace) -> View:
    """The view of a run of an engine with registers and rings."""
    dev_ports = [f"m_axi_{name}" for name in config.dev_ports]
    host = bursts_of(trace.cycles, "m_axi_host", config.host_data_bits // 8)
    dev = [burst for port in dev_ports for burst in bursts_of(trace.cycles, port, config.dev_data_bits // 8)]
    accesses = accesses_of(trace.cycles, "s_axil")
    names = {placed.address: placed.name for placed in register_map(config).placed()}
    jobs = jobs_of(config, host, dev)
    groups = _groups(
        config, trace, dev_ports, (host, dev), [_access(names, access) for access in accesses], jobs
    )
    tensors = [tensor for job in jobs if (tensor := job.tensor(config))]
    shown = [group for group in groups if group.lines or group.rows]
    return View(shown, _events(config, trace, names, accesses, [*host, *dev], jobs), _markers(jobs), tensors)


def _groups(
    config: EngineConfig,
    trace: Trace,
    dev_ports: Sequence[str],
    bursts: tuple[Sequence[Burst], Sequence[Burst]],
    accesses: Sequence[Box],
    jobs: Sequence[Job],
) -> Iterator[Group]:
    """From the doorbell over the descriptor and both channels to the completion, each port once."""
    host, dev = bursts
    port = partial(_port, trace)
    levels = partial(level_lines, trace)
    green, blue, yellow = GTKWColor.green, GTKWColor.blue, GTKWColor.yellow
    domains = config.domains
    clocks = dict.fromkeys((domains.core, domains.host, domains.registers))
    times = [name for clock in clocks for name in (clock, reset_of(clock))]
    yield Group("", lines_of(trace, (*times, "irq")))
    yield Group(
        "registers", port("s_axil", ("aw", "w", "b", "ar", "r"), yellow), rows=[Row("accesses", accesses)]
    )
    descriptors = [_record(job, job.descriptor, "descriptor") for job in jobs]
    yield Group("rings: descriptors", levels("engine.front.rings"), rows=[Row("descriptors", descriptors)])
    yield Group(
        "host memory: reads", port("m_axi_host", ("ar", "r"), blue), rows=[_bursts(host, write=False)]
    )
    own = partial(_channel, config, trace, jobs)
    yield own("offload", "check", "checker_", fields="front_offload_requests_descriptor", of=_DESCRIPTOR)
    yield own("offload", "reader", "path.reader")
    reads = [line for name in dev_ports for line in port(name, ("ar", "r"), green)]
    writes = [line for name in dev_ports for line in port(name, ("aw", "w", "b"), green)]
    yield Group("device memory: reads", reads, rows=[_bursts(dev, write=False)])
    yield own("offload", "codec", "path.switch", windows=True)
    yield own("offload", "units", "path.unit")
    yield own("offload", "writer", "path.writer")
    yield Group(
        "host memory: writes", port("m_axi_host", ("aw", "w", "b"), blue), rows=[_bursts(host, write=True)]
    )
    yield own("offload", "completion", "", fields="offload_done_completion", of=_COMPLETION)
    yield own("prefetch", "check", "checker_", fields="front_prefetch_requests_descriptor", of=_DESCRIPTOR)
    yield own("prefetch", "reader", "path.reader")
    yield own("prefetch", "codec", "path.switch", windows=True)
    yield own("prefetch", "units", "path.unit")
    yield own("prefetch", "writer", "path.writer")
    yield Group("device memory: writes", writes, rows=[_bursts(dev, write=True)])
    yield own("prefetch", "completion", "", fields="prefetch_done_completion", of=_COMPLETION)
    done = [_record(job, job.completion, "completion") for job in jobs if job.completion]
    yield Group("rings: completions", lines_of(trace, ("irq",)), rows=[Row("completions", done)])


def _channel(
    config: EngineConfig,
    trace: Trace,
    jobs: Sequence[Job],
    channel: str,
    stage: str,
    scope: str,
    *,
    fields: str = "",
    of: Sequence[str] = (),
    windows: bool = False,
) -> Group:
    """One stage of a channel: its state, fill levels, the windows that pass, and fields of its records."""
    own = [job for job in jobs if job.channel == channel]
    orange = GTKWColor.orange
    lines = []
    if stage == "check":
        lines += lines_of(trace, [f"engine.{channel}.fsm_state"], orange, within="engine.")
    for path in (f"engine.{fields}_{name}" for name in of):
        lines += lines_of(trace, [path], orange, names=_named(path), within=f"engine.{fields}_")
    if scope:
        lines += level_lines(trace, f"engine.{channel}.{scope}")
    boxes = [box for job in own for box in job.windows(config)] if windows else []
    # A channel that has nothing to do is out of the way.
    return Group(f"{channel}: {stage}", lines, closed=not own, rows=[Row("windows", boxes)] if boxes else [])


def _port(trace: Trace, prefix: str, channels: Iterable[str], color: GTKWColor) -> list[Line]:
    paths = [f"{prefix}_{channel}{name}" for channel in channels for name in _FIELDS]
    return [line for path in paths for line in lines_of(trace, [path], color, names=_named(path))]


def _named(path: str) -> Names | None:
    """The names of values of a port or of a field of a record."""
    for end, names in (("resp", _RESPONSES), ("_status", _STATUSES), ("_mode", _MODES)):
        if path.endswith(end):
            return names
    return None


def _bursts(bursts: Iterable[Burst], *, write: bool) -> Row:
    boxes = []
    for burst in bursts:
        if burst.write != write:
            continue
        response = _RESPONSES.values[burst.resp]
        text = f"{burst.address:x} x{burst.beats}" + (f" {response}" if burst.resp else "")
        details = [
            f"{burst.port} {'write' if write else 'read'}, ID {burst.id}",
            f"{burst.beats} beats of {burst.size} bytes, {response}",
            *(
                f"{piece.cycle:>6} {piece.address:>10x}  {piece.data[::-1].hex() or 'no bytes'}"
                + (f"  {_RESPONSES.values[piece.resp]}" if piece.resp else "")
                for piece in burst.pieces
            ),
        ]
        beats = [piece.cycle for piece in burst.pieces]
        boxes.append(Box(burst.first, burst.last, text, "\n".join(details), burst.resp > 1, beats))
    return Row("writes" if write else "reads", boxes)


def _access(names: Mapping[int, str], access: Access) -> Box:
    name = names.get(access.address, f"{access.address:#x}")
    text = f"{name} {'=' if access.write else '→'} {access.data:#x}"
    return Box(access.first, access.last, text, f"address {access.address:#x}", access.resp > 1)


def _record(job: Job, record: Record, what: str) -> Box:
    shown = {name: value for name, value in record.fields.items() if not name.startswith("reserved")}
    if "status" in shown:
        details = f"status: {status_name(shown.pop('status'))}\n"
    else:
        details = f"mode: {_MODES.values.get(shown.pop('mode'), '?')}\n"
    details += "\n".join(f"{name}: {value:#x}" for name, value in shown.items())
    wrong = what == "completion" and job.status != Status.OK
    text = f"{job.name}: {status_name(job.status)}" if what == "completion" else job.name
    return Box(record.first, record.last, text, f"{what} at {record.address:#x}\n{details}", wrong)


def _events(
    config: EngineConfig,
    trace: Trace,
    names: Mapping[int, str],
    accesses: Sequence[Access],
    bursts: Sequence[Burst],
    jobs: Sequence[Job],
) -> list[Event]:
    """The events of a run, with the causes of errors."""
    writes = {
        access: Event(
            access.last, f"{names.get(access.address, '?')} = {access.data:#x}", kind="register writes"
        )
        for access in accesses
        if access.write
    }
    faults = {
        id(burst): Event(
            next((piece.cycle for piece in burst.pieces if piece.resp), burst.last),
            f"{_RESPONSES.values[burst.resp]} on {burst.port}, burst at {burst.address:#x}",
            True,
        )
        for burst in bursts
        if burst.resp > 1
    }
    events = [*writes.values(), *faults.values()]
    for job in jobs:
        fetched = Event(job.descriptor.last, f"{job.name}: descriptor")
        events.append(fetched)
        for moved, verb in ((job.reads, "read"), (job.writes, "written")):
            pieces = [piece for burst in moved for piece in burst.pieces]
            if pieces:
                events.append(Event(pieces[0].cycle, f"{job.name}: first beat {verb}"))
                events.append(Event(max(piece.cycle for piece in pieces), f"{job.name}: last beat {verb}"))
        if job.completion is None:
            continue
        commands = [
            event for access, event in writes.items() if names.get(access.address) == f"{job.channel}.command"
        ]
        cause = _cause(config, job, fetched, faults, commands)
        if cause is not None and cause not in events:
            events.append(cause)
        text = f"{job.name}: completion {status_name(job.status)}"
        events.append(Event(job.completion.last, text, job.status != Status.OK, cause))
    irq = trace.signals["irq"]
    events += [Event(cycle, "irq") for cycle, value in zip(irq.cycles, irq.values, strict=True) if value]
    return events


def _cause(
    config: EngineConfig, job: Job, fetched: Event, faults: Mapping[int, Event], commands: Sequence[Event]
) -> Event | None:
    """Why a job ended with its status: a response of its bursts, a window of its stream, its descriptor, or a command."""
    if job.status in _BUS_FAULTS:
        return next((faults[id(burst)] for burst in (*job.reads, *job.writes) if id(burst) in faults), None)
    if job.status in _STREAM_FAULTS:
        wrong = next((box for box in job.windows(config) if box.error), None)
        return Event(wrong.last, f"{job.name}: {wrong.text}", True) if wrong else None
    if job.status in _DESCRIPTOR_FAULTS:
        return fetched
    if job.status == Status.ABORTED and job.completion is not None:
        end = job.completion.last
        return next((event for event in reversed(commands) if event.cycle <= end), None)
    return None


def _markers(jobs: Sequence[Job]) -> dict[str, int]:
    """The descriptor, the first and the last beat of data, and the completion of the first job that moved something."""
    job = next((job for job in jobs if job.reads), None)
    if job is None:
        return {}
    cycles = [piece.cycle for burst in (*job.reads, *job.writes) for piece in burst.pieces]
    markers = {"descriptor": job.descriptor.last, "first beat": min(cycles), "last beat": max(cycles)}
    return markers | ({"completion": job.completion.last} if job.completion else {})
