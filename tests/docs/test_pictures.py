"""Every picture of the documents can be read in a light and in a dark theme: its background is opaque and light."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdma.sim.study.training.figures import MOST_LINES
from tests.support.paths import DOCS

PICTURES = sorted(DOCS.rglob("*.svg"))
#: Elements that paint nothing where they stand.
UNPAINTED = ("defs", "desc", "metadata", "style", "title")
WHITE = ("#fff", "#ffffff", "white")


def name_of(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def painted(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yields the shapes below an element, in the order in which they are painted."""
    for child in element:
        if name_of(child) == "g":
            yield from painted(child)
        elif name_of(child) not in UNPAINTED:
            yield child


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


def extent(shape: ElementTree.Element) -> tuple[float, float, float, float]:
    """Returns the least and the greatest x and y of a rectangle, or of a path of straight lines."""
    if name_of(shape) == "rect":
        left, top, width, height = (float(shape.get(key, "0")) for key in ("x", "y", "width", "height"))
        return left, top, left + width, top + height
    corners = numbers(shape.get("d", ""))
    return min(corners[::2]), min(corners[1::2]), max(corners[::2]), max(corners[1::2])


def has_opaque_background(text: str) -> bool:
    """Says whether the first shape is white, without transparency, and covers the whole picture."""
    root = ElementTree.fromstring(text)
    left, top, width, height = numbers(root.attrib["viewBox"])
    first = next(painted(root))
    if name_of(first) not in ("rect", "path"):
        return False
    style = dict(re.findall(r"([\w-]+):\s*([^;]+)", first.get("style", ""))) | first.attrib
    if style.get("fill") not in WHITE or "opacity" in style or "fill-opacity" in style:
        return False
    x_least, y_least, x_most, y_most = extent(first)
    return x_least <= left and y_least <= top and x_most >= left + width and y_most >= top + height


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: str(path.relative_to(DOCS)))
def test_the_background_is_opaque(picture: Path) -> None:
    assert has_opaque_background(picture.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "shape",
    [
        '<path d="M0 0H9V9H0z" stroke="#000"/>',
        '<rect width="9" height="9" fill="none"/>',
        '<rect width="9" height="9" fill="#fff" fill-opacity="0"/>',
        '<rect width="9" height="8" fill="#fff"/>',
        '<text>9</text><rect width="9" height="9" fill="#fff"/>',
    ],
)
def test_what_is_not_a_background(shape: str) -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{}</svg>'
    assert has_opaque_background(picture.format('<rect width="9" height="9" fill="#fff"/>'))
    assert not has_opaque_background(picture.format(shape))


def labels(root: ElementTree.Element) -> Iterator[tuple[str, bool, float, float, float]]:
    """Yields each text, whether it runs upwards, where it is, and half of the length that it has at least.

    Half of the size of its font is the width of a character, which is less than most fonts take.
    """

    def below(
        element: ElementTree.Element, x: float, y: float, size: float, anchor: str, upwards: bool
    ) -> Iterator[tuple[str, bool, float, float, float]]:
        turn = element.get("transform", "")
        if moved := re.search(r"translate\(([^)]*)\)", turn):
            steps = [*numbers(moved[1]), 0.0]
            x, y = x + steps[0], y + steps[1]
        upwards = upwards or "rotate" in turn
        style = dict(re.findall(r"([\w-]+):\s*([^;]+)", element.get("style", ""))) | element.attrib
        size = (numbers(style.get("font-size", "")) or [size])[0]
        anchor = style.get("text-anchor", anchor)
        if name_of(element) == "text" and not re.search(r"rotate|matrix", element.get("transform", "")):
            text = "".join(element.itertext()).strip()
            half = size * len(text) / 4
            along = {"start": half, "middle": 0.0, "end": -half}.get(anchor, half)
            own_x, own_y = (numbers(element.get(key, "0"))[0] for key in ("x", "y"))
            if upwards:
                yield text, True, x + own_y, y - own_x - along, half
            else:
                yield text, False, x + own_x + along, y + own_y, half
        for child in element:
            if name_of(child) != "defs":
                yield from below(child, x, y, size, anchor, upwards)

    yield from below(root, 0.0, 0.0, 11.0, "start", False)


def clipped(text: str) -> list[str]:
    """The texts of a picture that reach over its edge."""
    root = ElementTree.fromstring(text)
    left, top, width, height = numbers(root.attrib["viewBox"])
    found = []
    for label, upwards, x, y, half in labels(root):
        (place, least, most) = (y, top, top + height) if upwards else (x, left, left + width)
        across, low, high = (x, left, left + width) if upwards else (y, top, top + height)
        if place - half < least - 1 or place + half > most + 1 or not low <= across <= high:
            found.append(label)
    return found


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: str(path.relative_to(DOCS)))
def test_no_label_is_clipped(picture: Path) -> None:
    assert clipped(picture.read_text(encoding="utf-8")) == []


def test_a_clipped_label_is_found() -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 30"><text {}>a long label</text></svg>'
    assert clipped(picture.format('x="0" y="9" font-size="11"')) == []
    assert clipped(picture.format('x="45" y="9" font-size="11" text-anchor="middle"')) == []
    assert clipped(picture.format('x="60" y="9" font-size="11"')) == ["a long label"]
    assert clipped(picture.format('x="20" y="9" font-size="11" text-anchor="end"')) == ["a long label"]
    assert clipped(picture.format('x="0" y="40" font-size="11"')) == ["a long label"]


def alike(root: ElementTree.Element) -> list[str]:
    """Returns what is wrong with the lines of a chart's panels: too many to tell apart, or two that look the same."""
    panels = [element for element in root.iter() if element.get("class") == "panel"] or [root]
    found = []
    for panel in panels:
        lines = [element for element in panel.iter() if name_of(element) == "polyline"]
        looks = {(line.get("stroke"), line.get("stroke-dasharray")) for line in lines}
        if len(lines) > MOST_LINES:
            found.append(f"{len(lines)} lines in one panel")
        if len(looks) < len(lines):
            found.append(f"{len(lines)} lines with {len(looks)} looks")
    return found


@pytest.mark.parametrize("picture", sorted((DOCS / "figures").glob("*.svg")), ids=lambda path: path.name)
def test_lines_can_be_told_apart(picture: Path) -> None:
    assert alike(ElementTree.parse(picture).getroot()) == []


def test_lines_that_cannot_be_told_apart() -> None:
    line = '<polyline stroke="#{}" points="0,0"/>'
    many = "".join(line.format(number) for number in range(MOST_LINES + 1))
    picture = ElementTree.fromstring(f"<svg>{many}</svg>")
    assert alike(picture) == ["7 lines in one panel"]
    split = (
        f'<svg><g class="panel">{many[: len(many) // 7]}</g><g class="panel">{2 * line.format(1)}</g></svg>'
    )
    assert alike(ElementTree.fromstring(split)) == ["2 lines with 1 looks"]
