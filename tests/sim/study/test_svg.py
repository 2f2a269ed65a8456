"""Charts as SVG text."""

import re
from xml.etree import ElementTree

import pytest

from cdma.sim.study.svg import Line, bar_chart, line_chart, line_panels


def test_text_is_escaped():
    svg = bar_chart("a < b & c", ["<g>"], {"<n>": [1.0]}, y_label="<y>")
    assert "<g>" not in svg
    assert ElementTree.fromstring(svg) is not None


def test_bars_are_as_high_as_their_values():
    svg = bar_chart("t", ["a", "b"], {"n": [10.0, 5.0]}, y_label="y")
    heights = [float(height) for height in re.findall(r'height="([\d.]+)" fill="#0072b2"><title>', svg)]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)


def test_bars_of_a_group_stand_beside_each_other():
    svg = bar_chart("t", ["a", "b"], {"n": [1.0, 2.0], "m": [3.0, 4.0]}, y_label="y")
    bars = re.findall(r'<rect x="([\d.]+)" .*<title>(.*): (.*)</title>', svg)
    assert [(name, value) for _, name, value in sorted(bars, key=lambda bar: float(bar[0]))] == [
        ("a, n", "1"),
        ("a, m", "3"),
        ("b, n", "2"),
        ("b, m", "4"),
    ]


def test_points_lie_where_their_values_are():
    svg = line_chart("t", [Line("n", [0, 1], [0, 1])], x_label="x", y_label="y")
    (points,) = re.findall(r'points="([^"]+)"', svg)
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in points.split())
    assert x0 < x1
    assert y0 > y1


def test_square_root_axis():
    lines = [Line("n", [0, 0.25, 1], [0, 0, 0])]
    svg = line_chart("t", lines, x_label="x", y_label="y", square_root=True)
    (points,) = re.findall(r'points="([^"]+)"', svg)
    x = [float(point.split(",")[0]) for point in points.split()]
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2)


def test_nothing_to_draw():
    for svg in (line_chart("t", [], x_label="x", y_label="y"), bar_chart("t", [], {}, y_label="y")):
        assert ElementTree.fromstring(svg) is not None


def test_panels_are_charts_with_the_same_axes():
    low, high = [Line("a", [0, 1], [0, 0.25])], [Line("b", [0, 1], [0.5, 1])]
    svg = line_panels("t", {"<p>": low, "q": high, "r": low}, x_label="x", y_label="y", y_most=1.0)
    root = ElementTree.fromstring(svg)
    panels = [element for element in root.iter() if element.get("class") == "panel"]
    assert [panel.get("transform") for panel in panels] == [
        "translate(0 28)",
        "translate(470 28)",
        "translate(0 268)",
    ]
    assert root.get("viewBox") == "0 0 940 508"
    first, second, third = re.findall(r'<polyline points="([^"]+)" fill="none" stroke="([^"]+)"', svg)
    assert first == third
    assert first[1] == second[1]
    (_, y0), (_, y1) = (map(float, point.split(",")) for point in first[0].split())
    (_, y2), (_, y3) = (map(float, point.split(",")) for point in second[0].split())
    assert y2 - y3 == pytest.approx(2 * (y0 - y1), abs=0.2)
