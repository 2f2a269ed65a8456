"""The processes that simulations are: what they have of this one's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma import Format
from cdma.hdl.spec.codec import CodecConfig
from cdma.verif.campaigns.regression import verify
from cdma.verif.stream.codec.design import CodecDesign


@pytest.mark.verilator
@pytest.mark.slow
def test_compiled_bytecode_is_kept_without_a_trace_in_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every simulation compiles the bench, which takes longer than most tests."""
    design = CodecDesign("compressor", CodecConfig(Format(16), 2))
    verify(design, tests=["patience"], packets=1)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    assert verify(design, tests=["patience"], packets=1).passed
    assert [path.name for path in tmp_path.rglob("codec_bench.*.pyc")]
