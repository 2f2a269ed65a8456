"""The pictures of the documents can be read: on a white ground, with no label cut off, outside its box or over another."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.paths import DOCS

PICTURES = sorted(DOCS.rglob("*.svg"))
#: Those that consist of boxes with labels.
OF_BOXES = [DOCS / name for name in ("system.svg", "format.svg", "litex.svg")]
by_picture = pytest.mark.parametrize("picture", PICTURES, ids=lambda path: str(path.relative_to(DOCS)))


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: Box) -> bool:
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom

    def touches(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


def size(picture: Path) -> Box:
    left, top, width, height = numbers(ElementTree.parse(picture).getroot().attrib["viewBox"])
    return Box(left, top, left + width, top + height)


@by_picture
def test_the_background_is_opaque(picture: Path) -> None:
    """The first shape is white and covers the whole picture."""
    root = ElementTree.parse(picture).getroot()
    hidden = {each for top in root.iterfind(".//{*}defs") for each in top.iter()}
    shapes = (each for each in root.iter() if each.tag.endswith(("}rect", "}path")) and each not in hidden)
    first = next(each for each in shapes if each.get("width") != "0")
    style = dict(re.findall(r"([\w-]+):\s*([^;]+)", first.get("style", ""))) | first.attrib
    assert style.get("fill") in ("#fff", "#ffffff", "white")


def labels(picture: Path, width: float) -> Iterator[tuple[str, Box]]:
    """Yields each level text with the box that it takes where a character is ``width`` of the size of its font wide."""
    root = ElementTree.parse(picture).getroot()
    rules = dict(
        re.findall(r"(\.?\w+)\{([^}]*)\}", "".join(each.text or "" for each in root.iterfind(".//{*}style")))
    )

    def look(element: ElementTree.Element) -> dict[str, str]:
        names = [element.tag.rpartition("}")[2], *(f".{name}" for name in element.get("class", "").split())]
        text = ";".join(rules.get(name, "") for name in names) + ";" + element.get("style", "")
        found = dict(re.findall(r"([\w-]+):\s*([^;]+)", text))
        if "font" in found:
            found.setdefault("font-size", (re.findall(r"(\d+)px", found["font"]) or ["11"])[0])
        return found | element.attrib

    def below(
        element: ElementTree.Element, x: float, y: float, kept: dict[str, str]
    ) -> Iterator[tuple[str, Box]]:
        turn = element.get("transform", "")
        if re.search("rotate|matrix", turn) or element.tag.endswith("}defs"):
            return
        if moved := re.search(r"translate\(([^)]*)\)", turn):
            steps = [*numbers(moved[1]), 0.0]
            x, y = x + steps[0], y + steps[1]
        kept = kept | {
            key: value for key, value in look(element).items() if key in ("font-size", "text-anchor")
        }
        if element.tag.endswith("}text"):
            text, high = "".join(element.itertext()).strip(), numbers(kept.get("font-size", "11"))[0]
            long = width * high * len(text)
            left = x + numbers(element.get("x", "0"))[0]
            left -= {"middle": long / 2, "end": long}.get(kept.get("text-anchor", ""), 0.0)
            base = y + numbers(element.get("y", "0"))[0]
            yield text, Box(left, base - 0.75 * high, left + long, base + 0.1 * high)
        for child in element:
            yield from below(child, x, y, kept)

    yield from below(root, 0.0, 0.0, {})


@by_picture
def test_no_label_is_clipped(picture: Path) -> None:
    """With characters half as wide as high, which is less than most fonts take."""
    left, top, right, bottom = size(picture)
    whole = Box(left - 1, top - 1, right + 1, bottom + 1)
    assert [text for text, box in labels(picture, 0.5) if not whole.holds(box)] == []


@pytest.mark.parametrize("picture", OF_BOXES, ids=lambda path: path.name)
def test_no_label_leaves_its_box_or_touches_another(picture: Path) -> None:
    """With characters wider than those of most fonts."""
    found = [(text, box) for text, box in labels(picture, 0.57) if text]
    boxes = []
    for each in ElementTree.parse(picture).iterfind(".//{*}rect"):
        x, y, width, height = (float(each.get(key, "0")) for key in ("x", "y", "width", "height"))
        boxes.append(Box(x, y, x + width, y + height))
    cut = [text for text, label in found for box in boxes if box.touches(label) and not box.holds(label)]
    over = [(one, other) for (one, a), (other, b) in itertools.combinations(found, 2) if a.touches(b)]
    assert (cut, over) == ([], [])


def test_the_picture_of_the_readme_is_legible_on_a_phone() -> None:
    """Where 600 units are as wide as the screen, a letter is as high there as 11 of 350 pixels."""
    picture = DOCS / "system.svg"
    assert size(picture).right <= 600
    assert min(box.bottom - box.top for _, box in labels(picture, 0.5)) / 0.85 >= 18
