"""The Python in docs/study/formats.md runs as it stands there, and the page names every preset."""

from __future__ import annotations

import pytest

import cdma
from cdma.hdl.spec.presets import PRESETS
from tests.support.documents import blocks
from tests.support.paths import DOCS

DOCUMENT = DOCS / "study" / "formats.md"


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(DOCUMENT, "python")
    exec(compile(example, "formats.md", "exec"), {})
    assert capsys.readouterr().out.strip() == cdma.backend()


def test_every_preset_is_named() -> None:
    assert [name for name in PRESETS if f"`{name}`" not in DOCUMENT.read_text()] == []
