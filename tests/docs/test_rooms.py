"""The picture of the rooms shows the rooms and the imports that there are, and no arrow passes through a third room."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree

from docs.draw_rooms import PICTURE, ROOMS, arrows, direct, draw
from tests.support.imports import modules_in, room_of
from tests.support.paths import PACKAGES, ROOT


def test_the_picture_is_current() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw(arrows()), "draw it with: python -m docs.draw_rooms"


def test_every_file_lies_in_a_room_of_the_picture() -> None:
    files = modules_in(ROOT, PACKAGES).values()
    assert [file for file in files if room_of(file, ROOMS) is None] == []
    assert [room for room in ROOMS if not any((ROOT / room).rglob("*.py"))] == []


def test_no_arrow_crosses_a_third_room() -> None:
    picture = ElementTree.fromstring(PICTURE.read_text(encoding="utf-8"))
    boxes = [
        tuple(float(box.get(key, "")) for key in ("x", "y", "width", "height"))
        for box in picture.iterfind(".//{*}rect")
        if box.get("fill") == "#fffdf2"
    ]
    ways = [
        [float(number) for number in re.findall(r"[\d.]+", path.get("d", ""))]
        for path in picture.iterfind(".//{*}path")
        if path.get("marker-end")
    ]
    assert len(boxes) == len(ROOMS)
    for way in ways:
        corners = list(zip(way[::2], way[1::2], strict=True))
        for (x, y), (x_end, y_end) in itertools.pairwise(corners):
            points = [(x + (x_end - x) * k / 100, y + (y_end - y) * k / 100) for k in range(101)]
            inside = [
                box
                for box in boxes
                if any(box[0] < a < box[0] + box[2] and box[1] < b < box[1] + box[3] for a, b in points)
            ]
            assert inside == []


def test_only_direct_arrows_are_drawn() -> None:
    pairs = {("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("a", "d")}
    assert direct(pairs) == [("a", "b"), ("b", "c"), ("c", "d")]
