"""Line and bar charts as SVG text.

The profile page, which must not need any package, and the figures of the documents are drawn with this. The same
numbers give the same bytes, so that a test can compare a document's figures with the data that they show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

#: In this order, colours that readers with the common kinds of colour blindness can distinguish.
_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7f7f7f",
    "#8c564b",
    "#17365d",
    "#b2182b",
)
_LEFT, _TOP, _BOTTOM, _LEGEND, _LINE = 56, 34, 44, 190, 15
#: From one number below an axis to the next, at least.
_APART = 22


@dataclass(frozen=True)
class Line:
    """One line of a chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    #: Whether the line is dashed, which distinguishes two kinds of lines.
    dashed: bool = False


@dataclass(frozen=True)
class _Size:
    """Of a chart, the width of its legend, and whether its x axis is that of square roots."""

    width: int
    height: int
    legend: int
    square_root: bool = False


_CHART = _Size(720, 340, _LEGEND)


def line_chart(
    title: str,
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    places: Mapping[str, int] | None = None,
) -> str:
    """Draws lines over a common axis that begins at 0, with a legend to the right, in the order of ``lines``.

    ``places`` says which colour belongs to a name in all charts alike; other names take them in turn.
    """
    frame, parts = _lines(title, lines, x_label, y_label, None, places or {}, _CHART)
    return _svg(frame.width, frame.height, title, parts)


def line_panels(
    title: str,
    panels: Mapping[str, Sequence[Line]],
    *,
    x_label: str,
    y_label: str,
    y_most: float,
) -> str:
    """Draws several charts with the same axes in two columns, each with its name and its legend.

    Lines at the same position of two panels have the same colour. The beginning of the x axis is stretched: a number is
    drawn at the position of its square root.
    """
    size, begin, columns = _Size(470, 240, 120, square_root=True), 28, 2
    parts = [f'<text x="{_LEFT}" y="18" font-size="14" font-weight="bold">{escape(title)}</text>']
    for index, (name, lines) in enumerate(panels.items()):
        x, y = index % columns * size.width, begin + index // columns * size.height
        _, drawn = _lines(name, lines, x_label, y_label, y_most, {}, size)
        parts += [f'<g class="panel" transform="translate({x} {y})">', *drawn, "</g>"]
    rows = -(-len(panels) // columns)
    return _svg(min(columns, max(1, len(panels))) * size.width, begin + rows * size.height, title, parts)


def _lines(
    title: str,
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    y_most: float | None,
    places: Mapping[str, int],
    size: _Size,
) -> tuple[_Frame, list[str]]:
    """Returns the frame of a line chart, at least as high as its legend, and what is drawn there."""
    x_axis = _ticks(max((max(line.x) for line in lines), default=1.0))
    if size.square_root:
        x_axis = [0.0, *(x_axis[-1] * part for part in (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0))]
    y_axis = _ticks(max((max(line.y) for line in lines), default=1.0) if y_most is None else y_most)
    height = max(size.height, _TOP + _BOTTOM + _LINE * len(lines))
    frame = _Frame(size.width, height, y_axis, legend=size.legend)
    parts = frame.parts(title, y_label)

    def across(x: float) -> float:
        part = x / x_axis[-1]
        return frame.across(math.sqrt(part) if size.square_root else part)

    written = -math.inf
    for tick in x_axis:
        x = across(tick)
        # A narrow panel has no room for every number.
        if x - written >= _APART:
            parts.append(_text(x, frame.bottom + 16, _number(tick), "middle"))
            written = x
    parts.append(_text((frame.left + frame.right) / 2, frame.bottom + 34, x_label, "middle"))
    for index, line in enumerate(lines):
        colour = _COLOURS[places.get(line.name, index) % len(_COLOURS)]
        pattern = "6 3" if line.dashed else "2 2" if index >= len(_COLOURS) else ""
        dash = f' stroke-dasharray="{pattern}"' if pattern else ""
        points = " ".join(f"{across(x):.1f},{frame.up(y):.1f}" for x, y in zip(line.x, line.y, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
        y = _TOP + _LINE * index + 8
        parts.append(
            f'<path d="M{frame.right + 12} {y}h22" fill="none" stroke="{colour}" stroke-width="2.5"{dash}/>'
        )
        parts.append(_text(frame.right + 40, y + 4, line.name))
    return frame, parts


def bar_chart(
    title: str,
    groups: Sequence[str],
    bars: Mapping[str, Sequence[float]],
    *,
    y_label: str,
    spans: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    level: float | None = None,
    places: Mapping[str, int] | None = None,
    width: int = _CHART.width,
    height: int = _CHART.height,
) -> str:
    """Draws one bar of every name in ``bars`` for each group; ``bars`` has the values in the order of the groups.

    ``spans`` draws an error bar from the least to the greatest value on the bars of a name, ``level`` a line across;
    ``places`` is that of :func:`line_chart`.
    """
    spans = spans or {}
    drawn = [value for values in bars.values() for value in values]
    drawn += [most for ends in spans.values() for _, most in ends]
    y_axis = _ticks(max(drawn, default=1.0))
    tilted = any(len(group) * 6.5 * len(groups) > width - _LEFT - _LEGEND for group in groups)
    frame = _Frame(width, height + (70 if tilted else 0), y_axis, _BOTTOM + (70 if tilted else 0))
    parts = frame.parts(title, y_label)
    slot = (frame.right - frame.left) / max(1, len(groups))
    bar = 0.8 * slot / max(1, len(bars))
    for index, group in enumerate(groups):
        x = frame.left + (index + 0.5) * slot
        turn = f' transform="rotate(-40 {x:.1f} {frame.bottom + 14:.1f})"' if tilted else ""
        parts.append(_text(x, frame.bottom + 14, group, "end" if tilted else "middle", turn))
    for index, (name, values) in enumerate(bars.items()):
        colour = _COLOURS[(places or {}).get(name, index) % len(_COLOURS)]
        for position, value in enumerate(values):
            x = frame.left + (position + 0.1) * slot + index * bar
            y = frame.up(value)
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{bar:.1f}" height="{frame.bottom - y:.1f}" '
                f'fill="{colour}"><title>{escape(f"{groups[position]}, {name}: {value:.3g}")}</title></rect>'
            )
            if name in spans:
                parts.append(_span(frame, x + bar / 2, min(bar / 2, 8), *spans[name][position]))
        y = _TOP + _LINE * index + 8
        parts.append(f'<rect x="{frame.right + 12}" y="{y - 5}" width="22" height="10" fill="{colour}"/>')
        parts.append(_text(frame.right + 40, y + 4, name))
    if level is not None:
        y_level = f"{frame.up(level):.1f}"
        parts.append(
            f'<path d="M{frame.left} {y_level}H{frame.right}" stroke="#222" stroke-dasharray="6 3"/>'
        )
    return _svg(frame.width, frame.height, title, parts)


def _span(frame: _Frame, x: float, half: float, least: float, most: float) -> str:
    """Draws an error bar, whose title says its ends."""
    low, high = frame.up(least), frame.up(most)
    ends = "".join(f"M{x - half:.1f} {y:.1f}h{2 * half:.1f}" for y in (low, high))
    return (
        f'<path d="M{x:.1f} {low:.1f}V{high:.1f}{ends}" fill="none" stroke="#222" stroke-width="1.2">'
        f"<title>{least:.3g} to {most:.3g}</title></path>"
    )


class _Frame:
    """The area that values are drawn in, and the axis to its left."""

    def __init__(
        self,
        width: int,
        height: int,
        y_axis: Sequence[float],
        below: int = _BOTTOM,
        legend: int = _LEGEND,
    ) -> None:
        self.width, self.height = width, height
        self.left, self.right = _LEFT, width - legend
        self.bottom = height - below
        self._y_axis = y_axis

    def across(self, part: float) -> float:
        return self.left + part * (self.right - self.left)

    def up(self, value: float) -> float:
        most = self._y_axis[-1]
        return self.bottom - min(max(value, 0.0), most) / most * (self.bottom - _TOP)

    def parts(self, title: str, y_label: str) -> list[str]:
        parts = [f'<text x="{self.left}" y="18" font-size="14" font-weight="bold">{escape(title)}</text>']
        for tick in self._y_axis:
            y = self.up(tick)
            parts.append(f'<path d="M{self.left} {y:.1f}H{self.right}" stroke="#d8d8d8"/>')
            parts.append(_text(self.left - 6, y + 4, _number(tick), "end"))
        parts.append(f'<path d="M{self.left} {_TOP}V{self.bottom}H{self.right}" fill="none" stroke="#444"/>')
        middle = (_TOP + self.bottom) / 2
        parts.append(_text(14, middle, y_label, "middle", f' transform="rotate(-90 14 {middle:.1f})"'))
        return parts


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11" role="img">'
    )
    background = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join((head, f"<title>{escape(title)}</title>", background, *parts, "</svg>")) + "\n"


def _text(x: float, y: float, text: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def _number(value: float) -> str:
    return f"{value:.4g}"


def _ticks(most: float) -> list[float]:
    """Returns about five round numbers, from 0 to ``most`` or a little past it."""
    if not most > 0 or not math.isfinite(most):
        most = 1.0
    rough = most / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [step * index for index in range(math.ceil(most / step - 1e-9) + 1)]
