"""The picture of the rooms shows the rooms and the imports that there are."""

from __future__ import annotations

import itertools

from cdma.hdl.spec.codecs import DEFAULT, codec_named
from docs.draw_rooms import (
    BY_NAME,
    FLOORS,
    PICTURE,
    ROOMS,
    Box,
    arrows,
    direct,
    draw,
    floor_of,
    line,
    within_folders,
)
from tests.support.imports import modules_in, room_of
from tests.support.paths import PACKAGES, ROOT


def test_the_picture_is_current() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw(arrows()), "draw it with: python -m docs.draw_rooms"


def test_every_file_lies_in_a_room_of_the_picture() -> None:
    files = modules_in(ROOT, PACKAGES).values()
    doors = {f"{folder}/__init__.py" for folder in FLOORS}
    assert [file for file in files if room_of(file, ROOMS) is None and file not in doors] == []
    assert [room for room in ROOMS if not any((ROOT / room).glob("*.py"))] == []


def test_rooms_lie_within_their_folders() -> None:
    assert [room for room, box in ROOMS.items() if not FLOORS[floor_of(room)].contains(box)] == []


def test_no_room_covers_another_or_the_caption_of_a_folder() -> None:
    captions = [Box(box.left + 14, box.top, 7 * len(box.text), "", height=45) for box in FLOORS.values()]
    boxes = [*ROOMS.items(), *zip(FLOORS, captions, strict=True)]
    covered = [(one, other) for (one, a), (other, b) in itertools.combinations(boxes, 2) if overlap(a, b)]
    assert covered == []


def overlap(a: Box, b: Box) -> bool:
    return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom


def test_no_arrow_leads_up() -> None:
    pairs = within_folders(arrows())
    assert [(source, target) for source, target in pairs if ROOMS[target].top < ROOMS[source].top] == []


def test_no_arrow_crosses_a_third_room() -> None:
    crossed = [
        (source, target, room)
        for source, target in within_folders(arrows())
        for room, box in ROOMS.items()
        if room not in (source, target) and crosses(line(ROOMS[source], ROOMS[target]), box)
    ]
    assert crossed == []


def crosses(ends: tuple[float, float, float, float], box: Box) -> bool:
    """Says whether a line has a point in a box, looked at in steps of a hundredth of its length."""
    x, y, x_end, y_end = ends
    points = [(x + (x_end - x) * step / 100, y + (y_end - y) * step / 100) for step in range(101)]
    return any(box.left < across < box.right and box.top < down < box.bottom for across, down in points)


def test_the_codecs_that_the_engine_loads_by_name_are_in_the_room_of_the_arrow() -> None:
    codec = codec_named(DEFAULT)
    assert {("hdl/engine/channel", "hdl/codec")} == BY_NAME
    for part in (codec.compressor, codec.decompressor):
        module = part.partition(":")[0]
        assert room_of(modules_in(ROOT, PACKAGES)[module], ROOMS) == "hdl/codec"


def test_only_direct_arrows_are_drawn() -> None:
    assert direct({("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("a", "d")}) == [
        ("a", "b"),
        ("b", "c"),
        ("c", "d"),
    ]
