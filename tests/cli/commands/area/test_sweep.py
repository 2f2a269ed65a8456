"""``cdma area --sweep``: files and JSON."""

import json

import pytest

from cdma.app import main
from tests.support.paths import TINY


@pytest.mark.slow
def test_command(tmp_path, shown, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "out"
    small = ["--word-bits", "8", "--window", "8", "--liberty", str(TINY)]
    command = ["area", "decompressor", *small, "--sweep", "lanes=1,16", "--sweep", "period=1,5", "--json"]
    rows = json.loads(shown(*command, "-o", str(folder)))
    assert [row["axes"] for row in rows] == [{"lanes": n, "period": p} for n in (1, 16) for p in (1.0, 5.0)]
    assert rows[0]["kge"] > 0
    assert rows[2] == {"axes": {"lanes": 16, "period": 1.0}, "reason": rows[3]["reason"]}
    names = ["area", "efficiency", "floor", "period"]
    expected = [f"decompressor-{name}.svg" for name in names] + [
        "decompressor-sweep.json",
        "decompressor-sweep.md",
    ]
    assert sorted(path.name for path in folder.iterdir()) == sorted(expected)
    assert json.loads((folder / "decompressor-sweep.json").read_text()) == rows
    table = (folder / "decompressor-sweep.md").read_text().splitlines()
    assert len(table) == 2 + 2
    assert table[2].startswith("| 1 | 1.0 | ")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main([*command, "-o", str(folder)]) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
