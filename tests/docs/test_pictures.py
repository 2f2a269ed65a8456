"""Every picture of the documents can be read in a light and in a dark theme: its background is opaque and light."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest

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
