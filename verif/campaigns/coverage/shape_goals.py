"""The situations of codecs, and of strided transfers of an engine, that a regression must bring up.

Lengths of packets are relative to the lanes and to the window. What cannot happen, such as a packet of one word that is
half full, is found by trying all packets of up to four windows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import lru_cache

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAGE_BYTES
from cdma.hdl.spec.records import shape_from
from cdma.hdl.spec.shape import Dimension, Shape
from cdma.sim.codec.model import CODE, NONE, PADDING, TRAILING, TRUNCATED
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.codec.codec_bench import bench_of
from cdma.verif.stream.codec.stimulus import MALFORMED

from .goals import Sample, cross, goal

_SIDES = ("before", "after", "on both sides")
_OF_DIMENSIONS = (
    "no entries",
    "one entry",
    "several entries",
    "backwards",
    *(f"padding {side}" for side in _SIDES),
)
_OF_ROWS = (
    *(f"margins {side}" for side in _SIDES),
    "one beat",
    "several bursts",
    "across the end of a page",
    "touching",
    "touching around padding",
    "touching at the end of a page",
)
_AMID = (
    "begins amid a beat",
    "ends amid a beat",
    "in a beat of memory with its neighbour",
    "several in a beat of the stream",
)


def _shape(sample: Sample, design: Design) -> Shape | None:
    """The shape of a transfer without an error."""
    if sample.get("status") != "OK" or "extension" not in sample:
        return None
    return shape_from(sample["extension"], design.config.dimensions)


def _side(before: int, after: int) -> str:
    """On which side of something there is padding."""
    return _SIDES[2 if before and after else 1 if after else 0]


def _orders(design: Design) -> list[str]:
    dimensions = design.config.dimensions
    found = [f"dimensions {count}" for count in range(dimensions + 1)]
    return cross(CHANNELS, (*found, "transposed") if dimensions > 1 else found)


@goal("channel by dimensions", _orders, lambda design: design.config.dimensions)
def _order(sample: Sample, design: Design) -> Iterator[str]:
    """transfers of shapes without an error: dimensions of several entries, and their order in memory"""
    shape = _shape(sample, design)
    if shape is None:
        return
    strides = [abs(each.stride) for each in shape.dimensions if each.count > 1]
    yield f"{sample['channel']}, dimensions {len(strides)}"
    if strides != sorted(strides):
        yield f"{sample['channel']}, transposed"


def _numbered(design: Design) -> list[str]:
    numbers = (f"dimension {number}" for number in range(1, design.config.dimensions + 1))
    return cross(CHANNELS, numbers, _OF_DIMENSIONS)


@goal("channel by dimension by entries", _numbered, lambda design: design.config.dimensions)
def _dimensions(sample: Sample, design: Design) -> Iterator[str]:
    """transfers of shapes without an error: what each dimension has in memory and in the stream"""
    shape = _shape(sample, design)
    if shape is None:
        return
    for number, each in enumerate(shape.dimensions, 1):
        exists = sample["extension"][f"count_{number}"] != 0
        for name in _of_dimension(each) if exists else ("no entries",):
            yield f"{sample['channel']}, dimension {number}, {name}"


def _of_dimension(dimension: Dimension) -> Iterator[str]:
    yield "one entry" if dimension.count == 1 else "several entries"
    if dimension.count > 1 and dimension.stride < 0:
        yield "backwards"
    if dimension.padded:
        yield f"padding {_side(dimension.before, dimension.after)}"


@goal("channel by rows", lambda design: cross(CHANNELS, _OF_ROWS), lambda design: design.config.dimensions)
def _rows(sample: Sample, design: Design) -> Iterator[str]:
    """transfers of shapes without an error: what rows are, and how they lie to each other and in pages"""
    shape = _shape(sample, design)
    if shape is None:
        return
    first = sample["source" if sample["channel"] == "offload" else "destination"]
    found = {*_of_row(shape, design.config), *_of_neighbours(shape, first)}
    yield from cross([sample["channel"]], sorted(found))


def _of_row(shape: Shape, config: EngineConfig) -> Iterator[str]:
    beat = config.dev_data_bits // 8
    if shape.before or shape.after:
        yield f"margins {_side(shape.before, shape.after)}"
    if shape.run == beat:
        yield "one beat"
    if shape.run > beat * config.burst("dev"):
        yield "several bursts"


def _of_neighbours(shape: Shape, first: int) -> Iterator[str]:
    """How rows, the first of which has this address, lie to each other, and to the pages of memory."""
    ended, padded = None, False
    for offset in shape.rows():
        if offset is None:
            padded = True
            continue
        place = first + offset
        if place % PAGE_BYTES + shape.run > PAGE_BYTES:
            yield "across the end of a page"
        if place == ended:
            yield "touching around padding" if padded else "touching"
            if place % PAGE_BYTES == 0:
                yield "touching at the end of a page"
        ended, padded = place + shape.run, False


@goal(
    "channel by rows amid beats",
    lambda design: cross(CHANNELS, _AMID),
    lambda design: design.config.dimensions and design.config.realign,
)
def _amid(sample: Sample, design: Design) -> Iterator[str]:
    """transfers of shapes without an error whose rows are of any words: how these lie in beats"""
    shape = _shape(sample, design)
    if shape is None:
        return
    beat = design.config.dev_data_bits // 8
    first = sample["source" if sample["channel"] == "offload" else "destination"]
    ends = [(first + at, first + at + shape.run) for at in shape.rows() if at is not None]
    beats = [{start // beat, (end - 1) // beat} for start, end in ends]
    found = (
        any(start % beat for start, _ in ends),
        any(end % beat for _, end in ends),
        any(before & after for before, after in itertools.pairwise(beats)),
        len(ends) > 1 and 2 * shape.row <= beat,
    )
    yield from cross([sample["channel"]], itertools.compress(_AMID, found))


SHAPE_GOALS = (_order, _dimensions, _rows, _amid)


_ERRORS = {
    NONE: "no error",
    TRUNCATED: "truncated",
    TRAILING: "trailing",
    CODE: "code",
    PADDING: "padding",
    MALFORMED: "malformed",
}
_TABLES = ("all entries alike", "some entries alike", "all entries different")
_FLOWS = "nothing holds back"

#: Cycles without a beat between two packets that follow at once: a decompressor needs some to report an error.
_AT_ONCE = 2


def _length(words: int, config: CodecConfig) -> str:
    lanes, window = config.lanes, config.format.window
    for holds, name in (
        (words == 0, "no words"),
        (words == 1, "one word"),
        (words < min(lanes, window), "part of a beat"),
        (words == window, "a window"),
        (words % window == 0, "whole windows"),
        (words > window, "windows and a part"),
        (words % lanes == 0, "whole beats of a window"),
    ):
        if holds:
            return name
    return "beats and a part"


def _density(literals: int, words: int) -> str:
    if literals in (0, words):
        return "all literals" if literals else "no literals"
    share = literals / words
    return "few literals" if share < 0.25 else "half literals" if share < 0.75 else "many literals"


@lru_cache(maxsize=8)
def _shapes(config: CodecConfig) -> tuple[str, ...]:
    """Lengths and densities that exist together."""
    found = {
        f"{_length(words, config)}, {_density(literals, words)}": None
        for words in range(1, 4 * config.format.window + 1)
        for literals in {0, 1, words // 8, words // 2, words - 1, words}
    }
    return tuple(found)


@goal("length by density", lambda design: _shapes(design.config))
def _codec_shape(sample: Sample, design: Design) -> Iterator[str]:
    """packets without an error: words relative to lanes and window, and the share of literals"""
    if sample["words"] and not sample["error"]:
        length, density = (
            _length(sample["words"], design.config),
            _density(sample["literals"], sample["words"]),
        )
        yield f"{length}, {density}"


def _ends(design: Design) -> list[str]:
    names = ["s_axis", "m_axis", "m_report"]
    return names + (["s_length"] if design.block == "decompressor" else [])


def _held(sample: Sample) -> list[str]:
    return list(sample["held"]) or [_FLOWS]


_DENSITIES = ("no literals", "few literals", "half literals", "many literals", "all literals")


@goal("held back by density", lambda design: cross([_FLOWS, *_ends(design)], _DENSITIES))
def _held_density(sample: Sample, design: Design) -> Iterable[str]:
    """which stream was held back during the packet, and the share of literals"""
    if not sample["words"] or sample["error"]:
        return ()
    return cross(_held(sample), [_density(sample["literals"], sample["words"])])


def _lengths_held(design: Design) -> Iterator[str]:
    lengths = dict.fromkeys(shape.partition(", ")[0] for shape in _shapes(design.config))
    yield from cross(["s_axis"], [name for name in lengths if not _one_beat(name, design)])
    yield from cross([_FLOWS, *_ends(design)[1:]], lengths)


@goal("held back by length", _lengths_held)
def _held_length(sample: Sample, design: Design) -> Iterable[str]:
    """which stream was held back during the packet, and its words relative to lanes and window"""
    if not sample["words"] or sample["error"]:
        return ()
    return cross(_held(sample), [_length(sample["words"], design.config)])


def _one_beat(name: str, design: Design) -> bool:
    """Whether all packets of a length go in with one beat, so that nothing can be held back in the middle."""
    config = design.config
    most = {"one word": 1, "part of a beat": config.lanes - 1, "a window": config.format.window}.get(name)
    if most is None:
        return False
    if design.block == "compressor":
        return most <= config.lanes
    return config.format.header_words + most * config.format.parts <= config.units


def _errors(design: Design) -> list[str]:
    errors = {NONE, MALFORMED}
    if design.block == "decompressor":
        errors |= bench_of(design.config).errors | ({PADDING} if design.config.format.padded else set())
    return [_ERRORS[error] for error in sorted(errors)]


def _table(sample: Sample) -> str:
    entries = sample["table"]
    distinct = len(set(entries))
    return _TABLES[0 if distinct == 1 else 2 if distinct == len(entries) else 1]


def _tables(design: Design) -> list[str]:
    entries = design.config.table_size
    names = [_TABLES[0]] + ([_TABLES[1]] if entries > 2 else []) + ([_TABLES[2]] if entries > 1 else [])
    return cross(names, _DENSITIES)


@goal("error by held back", lambda design: cross(_errors(design), [_FLOWS, *_ends(design)]))
def _error_by_held_back(sample: Sample, design: Design) -> Iterable[str]:
    """how the packet ended, and which stream was held back during it"""
    return cross([_ERRORS[sample["error"]]], _held(sample))


@goal("error before by gap", lambda design: cross(_errors(design), ["at once", "later"]))
def _error_before_by_gap(sample: Sample, design: Design) -> Iterable[str]:
    """how the packet before ended, and whether this one followed within two cycles"""
    return (
        []
        if sample["after"] is None
        else cross([_ERRORS[sample["after"]]], ["at once" if sample["gap"] <= _AT_ONCE else "later"])
    )


@goal("table by density", _tables, lambda design: design.config.runtime_values)
def _table_by_density(sample: Sample, design: Design) -> Iterable[str]:
    """the table that comes in at run time, and the share of literals"""
    return (
        cross([_table(sample)], [_density(sample["literals"], sample["words"])])
        if sample["words"] and not sample["error"]
        else []
    )


CODEC_GOALS = (
    _codec_shape, _held_density, _held_length, _error_by_held_back, _error_before_by_gap, _table_by_density,
)  # fmt: skip
