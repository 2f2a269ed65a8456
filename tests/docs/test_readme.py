"""The Python in README.md runs as it stands there."""

from __future__ import annotations

import pytest
from amaranth.hdl import Fragment

from tests.support.documents import blocks
from tests.support.paths import ROOT


def run(mark: str) -> dict[str, object]:
    """Runs the one example that contains ``mark``, and returns its names."""
    (example,) = (text for text in blocks(ROOT / "README.md", "python") if mark in text)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    return names


def test_the_component_can_be_elaborated() -> None:
    Fragment.get(run("cdma.hdl")["compressor"], None)


def test_the_tensor_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    run("cdma.compress")
    assert 1.8 < float(capsys.readouterr().out) < 2
