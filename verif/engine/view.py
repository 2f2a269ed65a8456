"""How a run of an engine is shown: its ports and its stages in the order in which data flow, and what happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from vcd.gtkw import GTKWColor

from cdma.hdl.spec.clocks import reset_of
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Mode, Status
from cdma.hdl.spec.registers.map import register_map
from cdma.verif.simulator.stream_lanes import level_lines
from cdma.verif.simulator.vcd_trace import Trace
from cdma.verif.simulator.view import Box, Event, Group, Line, Names, Row, View, lines_of

from .story import Job, Record, jobs_of, status_name
from .transactions import Access, Burst, accesses_of, bursts_of

__all__ = ["engine_view"]

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
    """Everything that is shown of a run of an engine with registers and rings."""
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
    yield Group("rings: descriptors", levels("engine.rings"), rows=[Row("descriptors", descriptors)])
    yield Group(
        "host memory: reads", port("m_axi_host", ("ar", "r"), blue), rows=[_bursts(host, write=False)]
    )
    own = partial(_channel, config, trace, jobs)
    yield own("offload", "check", "checker_", fields="rings_offload_requests_descriptor", of=_DESCRIPTOR)
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
    yield own("offload", "completion", "", fields="offload_completion", of=_COMPLETION)
    yield own("prefetch", "check", "checker_", fields="rings_prefetch_requests_descriptor", of=_DESCRIPTOR)
    yield own("prefetch", "reader", "path.reader")
    yield own("prefetch", "codec", "path.switch", windows=True)
    yield own("prefetch", "units", "path.unit")
    yield own("prefetch", "writer", "path.writer")
    yield Group("device memory: writes", writes, rows=[_bursts(dev, write=True)])
    yield own("prefetch", "completion", "", fields="prefetch_completion", of=_COMPLETION)
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
    """One stage of a channel: its state, what is full in it, the windows that pass, and fields of records that it has."""
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
    """What the values of a port or of a field of a record are called."""
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
    """What happened, and why what went wrong did."""
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
    """Why a job ended as it did: a response of its bursts, a window of its stream, its descriptor, or a command."""
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
