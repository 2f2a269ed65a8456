"""What of a shape, and of pages of host memory, falls into which bins."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from cdma.hdl.spec.records import SHAPE_RECORD, shape_values
from cdma.hdl.spec.shape import Dimension, Shape
from cdma.sim.engine.memory import pack, unpack
from cdma.verif.campaigns.coverage.engine_goals import ENGINE_GOALS
from cdma.verif.campaigns.coverage.goals import evaluate
from cdma.verif.engine.design import SMALL, EngineDesign

_DESIGN = EngineDesign(dataclasses.replace(SMALL, dimensions=2, pages=True))
_EDGES = {"begins amid a beat", "ends amid a beat"}
_BEAT, _PAGE, _LIST = 8, 0x1000, 0x9000


def _met(goal: str, *, design: EngineDesign = _DESIGN, **sample: object) -> set[str]:
    """The bins of a goal that one transfer falls into."""
    plain = {"what": "transfer", "channel": "offload", "mode": "RAW", "way": "ring", "status": "OK"}
    memory = {"source": 0, "destination": 0, "length": 64, "capacity": 64, "compressed_length": 0}
    told = {"address": 0, "bytes_written": 64, **plain, **memory, **sample}
    [found] = [each for each in evaluate(ENGINE_GOALS, [told], design) if each.goal.name == goal]
    return {name.split(", ", 1)[1] for name, count in found.counts.items() if count}


def _shape(goal: str, shape: Shape, **sample: Any) -> set[str]:
    extension = unpack(SHAPE_RECORD, pack(SHAPE_RECORD, shape_values(shape)))
    return _met(goal, extension=extension, **sample)


def test_dimensions_of_a_shape() -> None:
    shape = Shape(_BEAT, (Dimension(2, -64, 1, 0), Dimension(1, 0, 2, 1)))
    assert _shape("channel by dimension by entries", shape) == {
        "dimension 1, several entries",
        "dimension 1, backwards",
        "dimension 1, padding before",
        "dimension 2, one entry",
        "dimension 2, padding on both sides",
    }
    assert _shape("channel by dimension by entries", Shape(_BEAT, (Dimension(3, 64, 0, 1),))) == {
        "dimension 1, several entries",
        "dimension 1, padding after",
        "dimension 2, no entries",
    }
    transposed = Shape(_BEAT, (Dimension(2, 64), Dimension(2, 8)))
    assert _shape("channel by dimensions", transposed) == {"dimensions 2", "transposed"}
    assert _shape("channel by dimensions", transposed, status="READ_SLVERR") == set()


@pytest.mark.parametrize(
    ("shape", "at", "met"),
    [
        (Shape(8, (Dimension(2, 16),)), 0, set()),
        (Shape(8, (Dimension(2, 16),)), 3, _EDGES),
        (Shape(5, (Dimension(2, 8),)), 8, {"ends amid a beat"}),
        (Shape(8, (Dimension(2, 8),)), 1, {*_EDGES, "in a beat of memory with its neighbour"}),
        (Shape(4, (Dimension(3, 20),)), 6, {*_EDGES, "several in a beat of the stream"}),
    ],
)
def test_rows_amid_beats(shape: Shape, at: int, met: set[str]) -> None:
    design = EngineDesign(dataclasses.replace(SMALL, dimensions=2, alignment="byte"))
    assert _shape("channel by rows amid beats", shape, source=at, design=design) == met


def _column(stride: int, **options: int) -> Shape:
    return Shape(_BEAT, (Dimension(2, stride, **options), Dimension(2, 2 * stride)))


@pytest.mark.parametrize(
    ("shape", "at", "met"),
    [
        (Shape(16, before=8), 0, {"margins before"}),
        (Shape(520, after=8), 0, {"several bursts", "margins after"}),
        (Shape(16, before=8, after=8), _PAGE - 8, {"across the end of a page", "margins on both sides"}),
        (Shape(16), _PAGE - 16, set()),
        (_column(16), 0, {"one beat"}),
        (_column(-8), 0x40, {"one beat"}),
        (_column(8), 0, {"one beat", "touching"}),
        (_column(8, before=1), 0, {"one beat", "touching", "touching around padding"}),
        (_column(8), _PAGE - 16, {"one beat", "touching", "touching at the end of a page"}),
    ],
)
def test_rows(shape: Shape, at: int, met: set[str]) -> None:
    assert _shape("channel by rows", shape, source=at) == met


@pytest.mark.parametrize(
    ("at", "room", "met"),
    [
        (0x5000, 64, {"one page"}),
        (0x5FF0, 80, {"two pages", "first page, a beat", "last page, part"}),
        (0x5800, 0x2800, {"more pages", "first page, part", "last page, all"}),
        (0x5000, 0x1010, {"two pages", "first page, all", "last page, a beat"}),
    ],
)
def test_pages(at: int, room: int, met: set[str]) -> None:
    assert _met("channel by pages", destination=at, capacity=room, pages_low=_LIST) == met
    assert _met("channel by pages", destination=at, capacity=room) == set()


def _ends(channel: str, status: str, **sample: object) -> set[str]:
    return _met("channel by end of pages", channel=channel, status=status, pages_low=_LIST, **sample)


def test_ends_of_pages() -> None:
    assert _ends("offload", "OK", capacity=_PAGE) == {"with the last page"}
    assert _ends("offload", "OK", capacity=2 * _PAGE) == {"before the last page"}
    assert _ends("offload", "CAPACITY", bytes_written=0) == set()
    assert _ends("offload", "CAPACITY") == {"no room in its pages"}
    assert _ends("prefetch", "OK", capacity=2 * _PAGE) == {"with the last page"}
    assert _ends("prefetch", "STREAM_TRUNCATED", compressed_length=32) == set()
    assert _ends("prefetch", "STREAM_TRUNCATED", compressed_length=_PAGE + 2) == {"STREAM_TRUNCATED"}


def test_faults_after_pages_left_over() -> None:
    goal, fault = "fault of pages after pages left over", {"status": "WRITE_DECERR", "address": 0x5000}
    plain = {
        "channel": "offload",
        "status": "OK",
        "destination": 0,
        "capacity": 2 * _PAGE,
        "bytes_written": 64,
    }
    listed = plain | {"pages_low": _LIST}
    for before, met in (
        (None, set()),
        (plain, set()),
        (listed, {"WRITE_DECERR, page"}),
        (listed | {"capacity": _PAGE}, set()),
        (listed | {"bytes_written": _PAGE + 8}, set()),
        (listed | {"status": "WRITE_SLVERR"}, set()),
        (listed | {"channel": "prefetch"}, set()),
    ):
        assert _met(goal, before=before, pages_low=_LIST, **fault) == met
        assert _met(goal, before=before, **fault) == set()


def test_faults_of_pages() -> None:
    for status, address, met in (
        ("WRITE_DECERR", _LIST + 8, {"WRITE_DECERR, list"}),
        ("WRITE_SLVERR", 0x5000, {"WRITE_SLVERR, page"}),
        ("READ_SLVERR", _LIST, set()),
    ):
        assert _met("channel by fault of pages", status=status, address=address, pages_low=_LIST) == met
