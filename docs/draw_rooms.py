"""Draws ``docs/rooms.svg``, the picture of the rooms that ``docs/architecture.md`` opens with.

    python -m docs.draw_rooms

The tables below name the rooms, at most two folders deep, and the floors that they lie on. Everything else follows from
the imports of the package: a room stands above those of its floor that it imports from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise

from tests.support.imports import imports_of, modules_in, room_of
from tests.support.paths import DOCS, PACKAGES, ROOT

PICTURE = DOCS / "rooms.svg"
WIDTH = 1000
_BOX, _GAP, _HEAD, _MARGIN = 40, 30, 56, 16

#: The rooms, each with what is in it.
ROOMS = {
    "extras/study": "networks, papers, profiles",
    "extras/pytorch": "PyTorch, kernels of GPUs",
    "extras/linux": "driver, kernel in user mode",
    "cli/commands": "one file per command",
    "cli": "application, options, output",
    "verif/campaigns": "regression, coverage, mutants, faults",
    "verif/proofs": "blocks and whole files",
    "verif/stream": "codec and stage bench",
    "verif/engine": "engine bench",
    "verif/simulator": "builds, runs, watches",
    "synth/asic": "cells, paths",
    "synth/fpga": "place, route",
    "sim": "public names",
    "sim/engine": "model, drivers",
    "sim/codec": "golden model",
    "hdl": "public names",
    "hdl/deliver": "package, LiteX core",
    "hdl/engine": "channels, rings, units",
    "hdl/codec": "compressor, decompressor",
    "hdl/axi": "AXI4 ports",
    "hdl/lossy": "error bounds",
    "hdl/verilog": "prints Verilog",
    "hdl/blocks": "FIFOs, counters",
    "hdl/spec": "Format, EngineConfig, registers",
    "base": "caches, threads, jobs, Yosys",
}


@dataclass(frozen=True)
class Floor:
    """A part of the picture: the levels that it takes, from the top, and where it lies across."""

    text: str
    levels: tuple[int, ...]
    left: int
    width: int


FLOORS = {
    "extras": Floor("the wings", (0, 1, 2), 16, 236),
    "cli": Floor("command, public names", (0,), 268, 716),
    "verif": Floor("benches, proofs", (1,), 268, 458),
    "synth": Floor("area, clock", (1,), 742, 242),
    "sim": Floor("software of the same bits", (2,), 268, 260),
    "hdl": Floor("the hardware", (2,), 544, 440),
    "hdl/spec": Floor("plain data", (3,), 16, 968),
    "base": Floor("what runs work", (4,), 16, 968),
}


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


@cache
def arrows() -> frozenset[tuple[str, str]]:
    """Returns each pair of rooms of which the first imports from the second."""
    found = set()
    for item in imports_of(ROOT, modules_in(ROOT, PACKAGES)):
        source, target = room_of(item.file, ROOMS), room_of(item.target, ROOMS)
        if source is not None and target is not None and source != target:
            found.add((source, target))
    return frozenset(found)


def floor_of(room: str) -> str:
    """Returns the floor that a room lies on."""
    return room if room in FLOORS else room.partition("/")[0]


def direct(pairs: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the arrows that no detour over other rooms replaces."""
    ahead: dict[str, set[str]] = {}
    for source, target in pairs:
        ahead.setdefault(source, set()).add(target)

    def below(room: str) -> set[str]:
        return set().union(*({next_one} | below(next_one) for next_one in ahead.get(room, ())))

    return sorted(
        (source, target)
        for source, targets in ahead.items()
        for target in targets
        if not any(target in below(other) for other in targets - {target})
    )


def _rows(floor: str, pairs: Collection[tuple[str, str]]) -> list[list[str]]:
    """Returns the rooms of a floor in rows, each above all that it imports from."""
    rooms = [room for room in ROOMS if floor_of(room) == floor]

    def height(room: str) -> int:
        return max((height(b) + 1 for a, b in pairs if a == room and b in rooms), default=0)

    rows: dict[int, list[str]] = {}
    for room in rooms:
        rows.setdefault(height(room), []).append(room)
    return [rows[number] for number in sorted(rows, reverse=True)]


def _layout(rows: dict[str, list[list[str]]]) -> tuple[dict[str, Box], dict[str, Box]]:
    """Returns where floors and rooms lie."""
    needed = {name: _HEAD + len(lines) * (_BOX + _GAP) - _GAP + _MARGIN for name, lines in rows.items()}
    levels = 1 + max(max(floor.levels) for floor in FLOORS.values())
    heights = [
        max(needed[name] for name, each in FLOORS.items() if each.levels == (level,))
        for level in range(levels)
    ]
    tops = [_MARGIN + sum(heights[:level]) + level * _GAP for level in range(levels)]
    floors, rooms = {}, {}
    for name, floor in FLOORS.items():
        first, last = floor.levels[0], floor.levels[-1]
        height = tops[last] + heights[last] - tops[first]
        floors[name] = place = Box(floor.left, tops[first], floor.width, height)
        step = (height - _HEAD - _MARGIN - _BOX) / max(len(rows[name]) - 1, 1)
        for number, row in enumerate(rows[name]):
            widths = [18 + max(7.6 * len(room.rpartition("/")[2]), 6.4 * len(ROOMS[room])) for room in row]
            space = (place.width - sum(widths)) / (len(row) + 1)
            if space < 4:
                raise ValueError(f"the floor {name} is too narrow for {', '.join(row)}")
            left = place.left + space
            for room, width in zip(row, widths, strict=True):
                rooms[room] = Box(left, place.top + _HEAD + number * step, width, _BOX)
                left += width + space
    return floors, rooms


def _way(source: Box, target: Box, rows: list[list[Box]]) -> list[tuple[float, float]]:
    """Returns the corners of an arrow downwards, which passes rows in between through the gaps between their boxes."""
    corners = [(source.middle, source.bottom)]
    for row in rows:
        edges = [row[0].left - 12, *((a.right + b.left) / 2 for a, b in pairwise(row)), row[-1].right + 12]
        x = min(edges, key=lambda edge: abs(edge - corners[-1][0]) + abs(edge - target.middle))
        corners += [(x, row[0].top - 4), (x, row[0].bottom + 4)]
    x = min(max(corners[-1][0], target.left + 12), target.right - 12)
    return [*corners, (x, target.top)]


def draw(pairs: Collection[tuple[str, str]]) -> str:
    """Draws the rooms; of the arrows within a floor and of those between floors only what no detour replaces."""
    within = direct([pair for pair in pairs if floor_of(pair[0]) == floor_of(pair[1])])
    between = direct({(floor_of(a), floor_of(b)) for a, b in pairs if floor_of(a) != floor_of(b)})
    rows = {name: _rows(name, pairs) for name in FLOORS}
    floors, rooms = _layout(rows)
    height = max(box.bottom for box in floors.values()) + _MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
            f'height="{height:g}" font-family="sans-serif" font-size="12" role="img">',
            "<title>The rooms of the project; an arrow leads from a room to a room that it imports from</title>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" '
            'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="#345"/></marker></defs>',
            f'<rect width="{WIDTH}" height="{height:g}" fill="#fff"/>',
            *(line for name, box in floors.items() for line in _floor(name, box)),
            *(_arrow(_between(floors[a], floors[b]), 2.5) for a, b in between),
            *(_arrow(_inside(a, b, rows[floor_of(a)], rooms), 1.3) for a, b in within),
            *(line for room, box in rooms.items() for line in _room(room, box)),
            "</svg>\n",
        ]
    )


def _inside(
    source: str, target: str, rows: list[list[str]], rooms: dict[str, Box]
) -> list[tuple[float, float]]:
    number = {room: row for row, names in enumerate(rows) for room in names}
    passed = rows[number[source] + 1 : number[target]]
    return _way(rooms[source], rooms[target], [[rooms[room] for room in row] for row in passed])


def _between(source: Box, target: Box) -> list[tuple[float, float]]:
    """Returns the corners of an arrow between two floors: down where one is above the other, else across."""
    if source.bottom < target.top:
        x = (max(source.left, target.left) + min(source.right, target.right)) / 2
        return [(x, source.bottom), (x, target.top)]
    y = (max(source.top, target.top) + min(source.bottom, target.bottom)) / 2
    return (
        [(source.right, y), (target.left, y)]
        if source.right < target.left
        else [(source.left, y), (target.right, y)]
    )


def _floor(name: str, box: Box) -> Iterator[str]:
    yield _rectangle(box, "#eef2f6", 8)
    yield f'<text x="{box.left + 12:g}" y="{box.top + 22:g}" font-size="16" font-weight="bold">{name}</text>'
    yield f'<text x="{box.left + 12:g}" y="{box.top + 39:g}">{escape(FLOORS[name].text)}</text>'


def _room(room: str, box: Box) -> Iterator[str]:
    yield _rectangle(box, "#fffdf2", 4)
    middle = f'x="{box.middle:.1f}" text-anchor="middle"'
    yield f'<text {middle} y="{box.top + 17:g}" font-weight="bold">{room.rpartition("/")[2]}</text>'
    yield f'<text {middle} y="{box.top + 32:g}" font-size="11">{escape(ROOMS[room])}</text>'


def _rectangle(box: Box, fill: str, radius: int) -> str:
    return (
        f'<rect x="{box.left:.1f}" y="{box.top:g}" width="{box.width:.1f}" height="{box.height:g}" rx="{radius}" '
        f'fill="{fill}" stroke="#567"/>'
    )


def _arrow(corners: list[tuple[float, float]], width: float) -> str:
    way = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    return f'<path d="M{way}" stroke="#345" stroke-width="{width}" fill="none" marker-end="url(#head)"/>'


if __name__ == "__main__":
    PICTURE.write_text(draw(arrows()), encoding="utf-8")
