"""The picture of the rooms shows the rooms and the imports that there are."""

from __future__ import annotations

from docs.draw_rooms import FLOORS, PACKAGES, PICTURE, ROOMS, arrows, direct, draw, floor_of
from tests.support.imports import modules_in, room_of
from tests.support.paths import ROOT


def test_the_picture_is_current() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw(arrows()), "draw it with: python -m docs.draw_rooms"


def test_every_file_lies_in_a_room_of_the_picture() -> None:
    files = modules_in(ROOT, PACKAGES).values()
    doors = {f"{folder}/__init__.py" for folder in FLOORS}
    assert [file for file in files if room_of(file, ROOMS) is None and file not in doors] == []
    assert [room for room in ROOMS if not any((ROOT / room).glob("*.py"))] == []


def test_rooms_lie_within_their_folders() -> None:
    assert [room for room, box in ROOMS.items() if not FLOORS[floor_of(room)].contains(box)] == []


def test_no_arrow_leads_up() -> None:
    within = [pair for pair in arrows() if floor_of(pair[0]) == floor_of(pair[1])]
    assert [(source, target) for source, target in within if ROOMS[target].top < ROOMS[source].top] == []


def test_only_direct_arrows_are_drawn() -> None:
    assert direct({("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("a", "d")}) == [
        ("a", "b"),
        ("b", "c"),
        ("c", "d"),
    ]
