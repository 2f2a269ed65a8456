"""The key of the generator."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.hdl.verilog import generator_key as generator
from cdma.hdl.verilog.generator_key import generator_key


def test_the_key_of_the_generator_depends_on_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "verilog").mkdir()
    source = tmp_path / "part.py"
    monkeypatch.setattr(generator, "__file__", str(tmp_path / "verilog" / "generator_key.py"))
    keys = []
    for text in ("a = 1", "a = 2"):
        source.write_text(text)
        generator_key.cache_clear()
        keys.append(generator_key())
    generator_key.cache_clear()
    assert keys[0] != keys[1]
