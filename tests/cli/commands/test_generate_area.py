"""``cdma generate --area``: what was measured of a block, in its datasheet, and of no other block."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.app import main
from cdma.commands.generate.measured import measured
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.commands import Refused

_TINY = CodecConfig(Format(8, 8), lanes=2)
_OPTIONS = ["--word-bits", "8", "--window", "8", "--lanes", "2"]


def _report(**changes: object) -> str:
    report = {
        "block": "compressor",
        "config": _TINY.settings(),
        "library": "mine",
        "target_ns": 1.5,
        "kge": 1.26,
        "flip_flops": 1234,
        "memory_bits": 0,
        "period_ns": 0.987,
    }
    return json.dumps({**report, **changes})


def test_the_datasheet_has_it(tmp_path: Path) -> None:
    (tmp_path / "area.json").write_text(_report())
    words = ["generate", "compressor", *_OPTIONS, "--area", str(tmp_path / "area.json"), "-o", str(tmp_path)]
    assert main(words) == 0
    sheet = (tmp_path / "cdma_compressor_datasheet.md").read_text()
    assert "| cell library | mine, sized for 1.5 ns |\n| area | 1.3 kGE, without memories |" in sheet
    assert "| flip-flops | 1,234 |" in sheet
    assert "before placement | 0.99 ns |" in sheet


def test_without_timing_there_is_no_period(tmp_path: Path) -> None:
    (tmp_path / "area.json").write_text(_report(period_ns=None))
    rows = measured(tmp_path / "area.json", "compressor", _TINY.settings())
    assert list(rows) == ["cell library", "area", "flip-flops", "memories"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot read area.json: No such file or directory"),
        ("{}", "cannot read area.json: it is not what cdma area --json prints"),
        ("[" * 5000, "cannot read area.json: it is not what cdma area --json prints"),
        (_report(block="engine"), "area is of engine in area.json; it must be of the very compressor that is generated"),
        (
            _report(config=CodecConfig(Format(8, 8), lanes=4).settings()),
            "area is of other parameters in area.json; it must be of the very compressor that is generated",
        ),
    ],
)  # fmt: skip
def test_refused(
    text: str | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Refused,
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("area.json").write_text(text)
    assert (
        refused("generate", "compressor", *_OPTIONS, "--area", "area.json", "-o", "out") == f"cdma: {said}\n"
    )
    assert not list(Path().glob("out/*"))
