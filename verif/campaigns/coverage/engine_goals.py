"""The situations that the regression of an engine must bring up.

Lengths are those of raw data, relative to a beat and to the longest burst of the device port.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cdma.hdl.spec.options import has_slices
from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.simulator.simulate import Design

from .goals import PAGE_GOALS, Sample, cross, goal
from .shape_goals import SHAPE_GOALS

_MODES = tuple(mode.name for mode in Mode)
_BUS = ("READ_SLVERR", "READ_DECERR", "WRITE_SLVERR", "WRITE_DECERR")
_RINGS = ("FETCH_SLVERR", "FETCH_DECERR", "COMPLETION_SLVERR", "COMPLETION_DECERR")
_STREAM = ("STREAM_TRUNCATED", "STREAM_TRAILING", "STREAM_CODE", "STREAM_PADDING")
_LENGTHS = ("part of a beat", "a beat", "part of a burst", "a burst", "more than a burst")
_STARTS = ("neither", "source", "destination", "both")
_SHAPES = ("one beat", "several beats", "longest", "up to the end of a page")


def _transfer(sample: Sample) -> bool:
    return bool(sample["what"] == "transfer")


def _lengths(design: Design) -> Iterable[str]:
    beat, word = design.config.dev_data_bits, design.config.format.word_bits
    return cross(CHANNELS, _MODES, _LENGTHS if beat > word else _LENGTHS[1:])


@goal("channel by mode by length", _lengths)
def _length(sample: Sample, design: Design) -> Iterator[str]:
    """transfers without an error: raw bytes relative to a beat and to a burst of the device port"""
    if not _transfer(sample) or sample["status"] != "OK":
        return
    beat = design.config.dev_data_bits // 8
    burst, length = beat * design.config.burst("dev"), sample["length"]
    sizes = (length < beat, length == beat, length < burst, length == burst, True)
    yield f"{sample['channel']}, {sample['mode']}, {_LENGTHS[sizes.index(True)]}"


@goal(
    "channel by mode by tail",
    lambda design: cross(CHANNELS, _MODES, map(str, range(design.config.format.raw_bytes))),
    lambda design: design.config.tail_bits > 0,
)
def _tail(sample: Sample, design: Design) -> Iterator[str]:
    """transfers without an error: bytes of the last word, 0 for all"""
    if _transfer(sample) and sample["status"] == "OK":
        yield f"{sample['channel']}, {sample['mode']}, {sample['length'] % design.config.format.raw_bytes}"


def _statuses(design: Design) -> Iterator[str]:
    """How transfers end. Streams are read by a prefetch only; a failed write of a completion leaves no completion."""
    for status in Status:
        name = status.name
        if name in _RINGS and (not design.config.registers or name.startswith("COMPLETION")):
            continue
        if name == "STREAM_PADDING" and not design.config.format.padded:
            continue
        if name == "CRC_MISMATCH" and not design.config.crc:
            continue
        if name == "SHAPE" and not design.config.dimensions:
            continue
        if name == "OWNER" and not design.config.records.owner_bits:
            continue
        if name == "MEMORY":
            # No bit flips by itself in a simulation; `cdma faults memories` flips them.
            continue
        if name == "LOSSY_RANGE":
            yield from cross(["offload"] if design.config.quantisation else [], [name])
            continue
        yield from cross(["prefetch"] if name in _STREAM else CHANNELS, [name])


def _faults(design: Design) -> list[str]:
    padded = design.config.format.padded
    streams = _STREAM if padded else _STREAM[:-1]
    return [*cross(CHANNELS, ("RAW", "ZVC"), _BUS), *cross(["prefetch"], ("ZVC", "FVC"), streams)]


@goal("channel by mode by fault", _faults)
def _fault(sample: Sample, design: Design) -> Iterator[str]:
    """errors of the bus in raw and compressed transfers, and of streams in both compressed modes"""
    if _transfer(sample) and sample["status"] in (*_BUS, *_STREAM):
        yield f"{sample['channel']}, {sample['mode']}, {sample['status']}"


def _starts(design: Design) -> list[str]:
    # What lies at several ports begins with a beat.
    ends = {"offload": "destination", "prefetch": "source"}
    if design.config.units == 1:
        return cross(CHANNELS, _STARTS)
    return [each for channel in CHANNELS for each in cross([channel], ("neither", ends[channel]))]


@goal("channel by start", _starts, lambda design: design.config.realign)
def _start(sample: Sample, design: Design) -> Iterator[str]:
    """which of source and destination begins inside a beat"""
    if not _transfer(sample) or sample["status"] != "OK":
        return
    ports = ("dev", "host") if sample["channel"] == "offload" else ("host", "dev")
    off = [
        bool(sample[end] % (design.config.data_bits(port) // 8))
        for end, port in zip(("source", "destination"), ports, strict=True)
    ]
    yield f"{sample['channel']}, {_STARTS[off[0] + 2 * off[1]]}"


def _ports(design: Design) -> tuple[str, ...]:
    return (*design.config.dev_ports, "host")


@goal("port by direction by burst", lambda design: cross(_ports(design), ("read", "write"), _SHAPES))
def _bursts(sample: Sample, design: Design) -> Iterator[str]:
    """the shapes of bursts of data"""
    # ID 0 is data; the others are those of the rings.
    if sample["what"] != "burst" or sample["id"]:
        return
    longest = design.config.burst("host" if sample["port"] == "host" else "dev")
    where = f"{sample['port']}, {sample['way']}"
    beats = sample["beats"]
    if sample["ends page"]:
        yield f"{where}, {_SHAPES[3]}"
    yield f"{where}, {_SHAPES[0 if beats == 1 else 2 if beats == longest else 1]}"


def _handshakes(design: Design) -> list[str]:
    """An engine is always ready for requested data. Its register block accepts a request a cycle late, unless a register
    slice has room."""
    found = []
    for port in _ports(design):
        found += cross([port], ("ar", "aw", "w"), ("waited", "at once"))
        found += cross([port], ("r", "b"), ("at once",))
    if design.config.registers:
        found += cross(["registers"], ("r", "b"), ("waited", "at once"))
        requests = ("waited", "at once") if has_slices(design.config.register_slices, "in") else ("waited",)
        found += cross(["registers"], ("ar", "aw", "w"), requests)
    return found


@goal("port by handshake", _handshakes)
def _handshake(sample: Sample, design: Design) -> Iterator[str]:
    """transfers on each channel of each port that had to wait, and that had not"""
    if sample["what"] == "handshake":
        yield f"{sample['port']}, {sample['channel']}, {'waited' if sample['waited'] else 'at once'}"


@goal(
    "error register",
    lambda design: cross(CHANNELS, (*_RINGS, "WINDOW")),
    lambda design: design.config.registers,
)
def _register(sample: Sample, design: Design) -> Iterator[str]:
    """what the error register reported of rings"""
    if sample["what"] == "error register":
        yield f"{sample['channel']}, {sample['status']}"


@goal("channel by status", _statuses)
def _channel_by_status(sample: Sample, design: Design) -> Iterable[str]:
    """how transfers ended, as their completions say"""
    return cross([sample["channel"]], [str(sample["status"])]) if _transfer(sample) else ()


@goal(
    "way by channel",
    lambda design: cross(("ring", "registers") if design.config.registers else ("stream",), CHANNELS),
)
def _way_by_channel(sample: Sample, design: Design) -> Iterable[str]:
    """how descriptors were given: by rings, by registers, or as streams"""
    return cross([sample["way"]], [sample["channel"]]) if _transfer(sample) else ()


ENGINE_GOALS = (
    _length,
    _channel_by_status,
    _fault,
    _way_by_channel,
    _start,
    _tail,
    *SHAPE_GOALS,
    *PAGE_GOALS,
    _bursts,
    _handshake,
    _register,
)
