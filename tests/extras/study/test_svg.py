"""Charts as SVG text: what is drawn is what was given."""

import re
from xml.etree import ElementTree

import pytest

from cdma.study.svg import Line, bar_chart, line_chart, line_panels


def points_of(svg):
    """The points of each line."""
    return [
        [tuple(map(float, point.split(","))) for point in points.split()]
        for points in re.findall(r'points="([^"]+)"', svg)
    ]


def test_names_are_escaped_and_nothing_is_drawn_of_nothing():
    bars = bar_chart("a < b & c", ["<g>"], {"<n>": [1.0]}, y_label="<y>")
    assert "<g>" not in bars
    empty = line_chart("t", [], x_label="x", y_label="y"), bar_chart("t", [], {}, y_label="y")
    assert all(ElementTree.fromstring(svg) is not None for svg in (bars, *empty))


def test_bars_stand_in_order_and_are_as_high_as_their_values():
    svg = bar_chart("t", ["a", "b"], {"n": [1.0, 2.0], "m": [3.0, 4.0]}, y_label="y")
    bars = re.findall(r'<rect x="([\d.]+)" .*height="([\d.]+)" .*<title>(.*): (.*)</title>', svg)
    bars.sort(key=lambda bar: float(bar[0]))
    assert [(name, value) for *_, name, value in bars] == [
        *(("a, n", "1"), ("a, m", "3"), ("b, n", "2"), ("b, m", "4"))
    ]
    heights = [float(height) for _, height, *_ in bars]
    assert heights == [pytest.approx(float(value) * heights[0], abs=0.2) for *_, value in bars]


def test_points_lie_where_their_values_are():
    ((start, end),) = points_of(line_chart("t", [Line("n", [0, 1], [0, 1])], x_label="x", y_label="y"))
    assert start[0] < end[0]
    assert start[1] > end[1]
    lines = [Line("n", [0, 0.25, 1], [0, 0, 0])]
    ((a, b, c),) = points_of(line_chart("t", lines, x_label="x", y_label="y", square_root=True))
    assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.2)


def test_panels_are_charts_with_the_same_axes():
    low, high = [Line("a", [0, 1], [0, 0.25])], [Line("b", [0, 1], [0.5, 1])]
    svg = line_panels("t", {"<p>": low, "q": high, "r": low}, x_label="x", y_label="y", y_most=1.0)
    panels = [each for each in ElementTree.fromstring(svg).iter() if each.get("class") == "panel"]
    assert len({panel.get("transform") for panel in panels}) == 3
    first, second, third = points_of(svg)
    assert first == third
    assert second[0][1] - second[1][1] == pytest.approx(2 * (first[0][1] - first[1][1]), abs=0.2)
