"""Drawings for a datasheet: the block with its ports, and signals over time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cdma.hdl.verilog.ports import Port

from .buses import CLOCK, RESET, Bus, buses_of

__all__ = ["block_drawing", "wave_drawing"]

_ROW, _SIDE, _BOX = 26, 250, 300
#: Colours that read on white and on black.
_STYLE = (
    "<style>text{font:13px sans-serif;fill:#24527a}.t{font-weight:bold}.s{font-size:11px}"
    "path{stroke:#24527a;fill:none;stroke-width:1.5}rect{stroke:#24527a;fill:#8ab4d822;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#a9cdee}path,rect{stroke:#a9cdee}}</style>"
)


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"><title>{escape(title)}</title>{_STYLE}{"".join(parts)}</svg>\n'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{style}>{escape(text)}</text>'


def _arrow(x: float, y: float, length: float, wide: bool) -> str:
    head = -6 if length > 0 else 6
    width = ' stroke-width="4" style="stroke-width:4"' if wide else ""
    line = f'<path d="M{x:g} {y:g}h{length:g}"{width}/>'
    return (
        line
        + f'<path d="M{x + length + head:g} {y - 5:g}L{x + length:g} {y:g}L{x + length + head:g} {y + 5:g}"/>'
    )


def _label(bus: Bus) -> str:
    return bus.kind if bus.data_bits == 1 else f"{bus.kind}, {bus.data_bits} bits"


def block_drawing(name: str, title: str, ports: Sequence[Port]) -> str:
    """The block as a box: what drives it on the left, what it drives on the right, buses as thick arrows."""
    buses, single = buses_of(ports)
    sides: dict[bool, list[tuple[str, str, bool]]] = {False: [], True: []}
    for bus in buses:
        thick = bus.kind not in (CLOCK, RESET) and len(bus.signals) > 1
        sides[bus.drives].append((bus.name, _label(bus), thick))
    for port in single:
        label = f"{port.width} bits" if port.width > 1 else ""
        sides[port.direction == "output"].append((port.name, label, port.width > 1))
    rows = max(len(side) for side in sides.values())
    height = rows * 2 * _ROW + 60
    box_height = height - 20
    parts = [
        f'<rect x="{_SIDE}" y="10" width="{_BOX}" height="{box_height}" rx="6"/>',
        _text(_SIDE + _BOX / 2, height / 2 - 4, name, "middle", "t"),
        _text(_SIDE + _BOX / 2, height / 2 + 16, title, "middle", "s"),
    ]
    for drives, entries in sides.items():
        for index, (port_name, label, thick) in enumerate(entries):
            y = 40 + index * 2 * _ROW
            x = _SIDE + _BOX if drives else 20
            parts.append(_arrow(x, y + 8, _SIDE - 20, thick))
            middle = x + (_SIDE - 20) / 2
            parts.append(_text(middle, y, port_name, "middle", "t"))
            parts.append(_text(middle, y + 24, label, "middle", "s"))
    return _svg(2 * _SIDE + _BOX, height, f"{name} and its ports", parts)


def wave_drawing(title: str, signals: Sequence[tuple[str, str]]) -> str:
    """Signals over time, a character for each cycle: 0, 1, ``p`` for a clock, ``-`` for a value that does not matter,
    and any other letter for a value, which lasts as long as the letter is repeated."""
    left, cycle, high, row = 130, 44, 18, 32
    cycles = max(len(levels) for _, levels in signals)
    parts = []
    for index, (name, levels) in enumerate(signals):
        top = 12 + index * row
        bottom = top + high
        parts.append(_text(left - 10, bottom - 4, name, "end"))
        start = 0
        path = []
        while start < len(levels):
            level = levels[start]
            end = start + 1
            while end < len(levels) and levels[end] == level and level not in "p":
                end += 1
            x, stop = left + start * cycle, left + end * cycle
            if level == "p":
                path.append(f"M{x} {bottom}V{top}H{x + cycle / 2:g}V{bottom}H{stop}")
            elif level in "01":
                y = top if level == "1" else bottom
                path.append(f"{'L' if path and levels[start - 1] in '01' else 'M'}{x} {y}L{stop} {y}")
            elif level == "-":
                path.append(f"M{x} {(top + bottom) / 2:g}H{stop}")
            else:
                path.append(
                    f"M{x + 4} {top}H{stop - 4}L{stop} {(top + bottom) / 2:g}L{stop - 4} {bottom}H{x + 4}"
                )
                path.append(f"L{x} {(top + bottom) / 2:g}Z")
                parts.append(_text((x + stop) / 2, bottom - 4, level, "middle", "s"))
            start = end
        parts.append(f'<path d="{"".join(path)}"/>')
    return _svg(left + cycles * cycle + 20, len(signals) * row + 16, title, parts)
