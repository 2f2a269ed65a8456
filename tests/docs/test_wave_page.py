"""The picture of the page of a run, which README and tutorial show, is small, and its script takes it again."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from docs.draw_page import PICTURE, draw
from tests.support.paths import DOCS, ROOT


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height in the header of a PNG."""
    head = picture.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_the_picture_is_small_and_shown() -> None:
    assert PICTURE.stat().st_size <= 150_000
    assert "](docs/wave-page.png)" in (ROOT / "README.md").read_text()
    assert "](wave-page.png)" in (DOCS / "tutorial.md").read_text()


@pytest.mark.thorough
@pytest.mark.verilator
@pytest.mark.slow
def test_the_script_takes_it(tmp_path: Path) -> None:
    draw(tmp_path / "page.png")
    assert size_of(tmp_path / "page.png") == size_of(PICTURE)
