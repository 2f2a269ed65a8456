"""Draws ``docs/rooms.svg``, the picture of the rooms that ``docs/architecture.md`` opens with.

    python -m docs.draw_rooms

Positions and captions are below. The arrows are read from the imports of the package.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from html import escape

from tests.support.imports import imports_of, modules_in, room_of
from tests.support.paths import DOCS, PACKAGES, ROOT

__all__ = [
    "BY_NAME",
    "FLOORS",
    "PICTURE",
    "ROOMS",
    "Box",
    "arrows",
    "direct",
    "draw",
    "floor_of",
    "line",
    "within_folders",
]

PICTURE = DOCS / "rooms.svg"
WIDTH, HEIGHT = 1000, 950


@dataclass(frozen=True)
class Box:
    """A rectangle of the picture, with a few words on what is in it."""

    left: int
    top: int
    width: int
    text: str
    height: int = 40

    @property
    def right(self) -> int:
        return self.left + self.width

    @property
    def bottom(self) -> int:
        return self.top + self.height

    def contains(self, other: Box) -> bool:
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom


#: The folders, from the command down to the plain data that everything stands on.
FLOORS = {
    "cli": Box(20, 20, 960, "the command and the public names", 70),
    "verif": Box(20, 120, 620, "benches, proofs", 176),
    "synth": Box(660, 120, 320, "area, clock, FPGA", 176),
    "sim": Box(20, 326, 400, "models in numpy; no Amaranth", 504),
    "hdl": Box(440, 326, 540, "the hardware", 504),
    "hdl/spec": Box(20, 860, 960, "plain data; neither Amaranth nor numpy", 70),
}

#: The rooms, each within its folder. Every arrow leads down or to the side.
ROOMS = {
    "cli/commands": Box(330, 35, 290, "one file per command"),
    "cli": Box(670, 35, 290, "application, options, output"),
    "verif/campaigns/faults": Box(140, 130, 90, "faults around"),
    "verif/campaigns/soak": Box(240, 130, 70, "at random"),
    "verif/campaigns/mutation": Box(420, 130, 105, "faults inside"),
    "verif/proofs": Box(535, 130, 95, "single blocks"),
    "verif": Box(320, 130, 90, "the regression"),
    "verif/codec": Box(40, 190, 180, "bench, plan, tests"),
    "verif/lossy": Box(236, 190, 150, "bench, plan, tests"),
    "verif/engine": Box(402, 190, 218, "bench, plan, tests"),
    "verif/engine/litex": Box(40, 250, 100, "SoC with a CPU"),
    "verif/simulator": Box(160, 250, 160, "builds, runs, waveforms"),
    "verif/monitors": Box(340, 250, 280, "rules of AXI and of streams"),
    "synth/asic/sweep": Box(830, 130, 135, "many measurements"),
    "synth/asic": Box(830, 190, 135, "standard cells"),
    "synth/asic/library": Box(830, 250, 135, "cell libraries"),
    "synth/fpga": Box(675, 190, 135, "place and route"),
    "synth": Box(675, 250, 135, "circuits, Yosys"),
    "sim/study/training": Box(40, 470, 140, "small networks"),
    "sim/study/profile": Box(196, 470, 90, "own tensors"),
    "sim/engine/driver": Box(300, 470, 105, "Python and C"),
    "sim/torch": Box(40, 550, 56, "autograd"),
    "sim/study/system": Box(102, 550, 56, "one step"),
    "sim/study/compare": Box(162, 550, 74, "RL, LZ4"),
    "sim/engine": Box(330, 550, 75, "its model"),
    "sim/lossy": Box(247, 550, 76, "error bounds"),
    "sim/codec": Box(160, 630, 245, "the golden model of the format"),
    "sim/support": Box(40, 716, 365, "files, tables, charts"),
    "hdl/litex": Box(545, 346, 80, "for LiteX"),
    "hdl/engine": Box(645, 346, 195, "the top modules"),
    "hdl/engine/rings": Box(620, 406, 200, "rings in host memory, interrupts"),
    "hdl/engine/control": Box(620, 466, 200, "registers, counters"),
    "hdl/engine/channel": Box(620, 526, 200, "one direction of the data"),
    "hdl/engine/units": Box(836, 526, 129, "several units"),
    "hdl/engine/path": Box(836, 596, 129, "the way of the data"),
    "hdl/texts": Box(850, 346, 115, "C, SystemRDL"),
    "hdl/codec": Box(545, 596, 200, "compressor, decompressor"),
    "hdl/axi": Box(884, 656, 81, "AXI4 ports"),
    "hdl/codec/plain": Box(560, 656, 90, "flip-flops"),
    "hdl/codec/pipelined": Box(655, 656, 105, "memories"),
    "hdl/codec/parts": Box(560, 716, 190, "butterfly, classifier, tally"),
    "hdl/lossy": Box(765, 606, 60, "error bounds"),
    "hdl/deliver": Box(452, 556, 66, "its folder"),
    "hdl/verilog": Box(452, 626, 80, "names and text"),
    "hdl/blocks": Box(565, 776, 400, "FIFOs, counters"),
    "hdl/spec/registers": Box(340, 875, 280, "the description of the registers"),
    "hdl/spec": Box(670, 875, 290, "Format, EngineConfig, records"),
}

#: The arrows that no import shows: the description of a codec names its hardware, and the engine loads it by that name.
BY_NAME = {("hdl/engine/channel", "hdl/codec")}


@cache
def arrows() -> set[tuple[str, str]]:
    """Returns each pair of rooms of which the first imports from the second, or loads it by name."""
    found = set(BY_NAME)
    for item in imports_of(ROOT, modules_in(ROOT, PACKAGES)):
        source, target = room_of(item.file, ROOMS), room_of(item.target, ROOMS)
        if source is not None and target is not None and source != target:
            found.add((source, target))
    return found


def floor_of(room: str) -> str:
    """Returns the innermost folder of the picture that a room lies in."""
    return "hdl/spec" if room.startswith("hdl/spec") else room.partition("/")[0]


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


def within_folders(pairs: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the direct arrows between rooms of one folder."""
    return [pair for pair in direct(pairs) if floor_of(pair[0]) == floor_of(pair[1])]


def draw(pairs: Collection[tuple[str, str]]) -> str:
    """Draws the rooms with the given arrows; of those between two folders the picture has one."""
    within = within_folders(pairs)
    between = direct({(floor_of(a), floor_of(b)) for a, b in pairs if floor_of(a) != floor_of(b)})
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="sans-serif" font-size="12" role="img">',
        "<title>The rooms of the project; an arrow leads from a room to a room that it imports from</title>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="#345"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for name, box in FLOORS.items():
        parts.append(_rectangle(box, "#eef2f6", 8))
        parts.append(
            f'<text x="{box.left + 14}" y="{box.top + 24}" font-size="17" font-weight="bold">{name}/</text>'
        )
        parts.append(f'<text x="{box.left + 14}" y="{box.top + 43}">{escape(box.text)}</text>')
    parts += [_arrow(FLOORS[source], FLOORS[target], 2.5) for source, target in between]
    parts += [_arrow(ROOMS[pair[0]], ROOMS[pair[1]], 1.3, dashed=pair in BY_NAME) for pair in within]
    for room, box in ROOMS.items():
        name = room.removeprefix(f"{floor_of(room)}/")
        middle = box.left + box.width / 2
        parts.append(_rectangle(box, "#fffdf2", 4))
        parts.append(
            f'<text x="{middle:g}" y="{box.top + box.height / 2 - 3:g}" text-anchor="middle" '
            f'font-weight="bold">{name}</text>'
        )
        parts.append(
            f'<text x="{middle:g}" y="{box.top + box.height / 2 + 12:g}" text-anchor="middle" '
            f'font-size="11">{escape(box.text)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _rectangle(box: Box, fill: str, radius: int) -> str:
    return (
        f'<rect x="{box.left}" y="{box.top}" width="{box.width}" height="{box.height}" rx="{radius}" '
        f'fill="{fill}" stroke="#567"/>'
    )


def line(source: Box, target: Box) -> tuple[float, float, float, float]:
    """Returns x and y of an arrow's start and end: from box to box downwards, or sideways if they are side by side."""
    left, right = max(source.left, target.left), min(source.right, target.right)
    if source.bottom > target.top:
        height = (max(source.top, target.top) + min(source.bottom, target.bottom)) / 2
        if source.right < target.left:
            return source.right, height, target.left, height
        return source.left, height, target.right, height
    if left < right:
        middle = (left + right) / 2
        return middle, source.bottom, middle, target.top
    if right < source.left:
        return source.left + 20, source.bottom, target.right - 20, target.top
    return source.right - 20, source.bottom, target.left + 20, target.top


def _arrow(source: Box, target: Box, width: float, *, dashed: bool = False) -> str:
    x, y, x_end, y_end = line(source, target)
    dashes = 'stroke-dasharray="5 3" ' if dashed else ""
    return (
        f'<path d="M{x:g} {y:g}L{x_end:g} {y_end:g}" stroke="#345" stroke-width="{width}" '
        f'{dashes}fill="none" marker-end="url(#head)"/>'
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(arrows()), encoding="utf-8")
