"""The script of the tables on the codec in software: their shape, there and in the document, and where it puts them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from cdma import app
from cdma.hdl.spec.presets import PRESETS
from docs import software_results

DOCUMENT = software_results.DOCUMENT.read_text()
CODECS = (
    "cDMA numpy",
    "cDMA scalar",
    "cDMA avx2",
    "cDMA avx512",
    "zlib 1",
    "LZ4",
    "zstd 1",
    "blosc2 LZ4 1",
    "memcpy",
)


def rows(table: str) -> list[list[str]]:
    """The cells of a table, titles first."""
    return [line.strip("| ").split(" | ") for line in table.strip().splitlines()]


def in_document(name: str) -> list[list[str]]:
    _, _, rest = DOCUMENT.partition(software_results.mark(name, "begin"))
    return rows(rest.partition(software_results.mark(name, "end"))[0])


def shape(table: list[list[str]]) -> list[list[str]]:
    """A table with a 0 for each number in it, of as many digits before the point."""
    return [[re.sub(r"[0-9,]+(\.[0-9]+)?$|[0-9]+\.[0-9]+", "0", cell) for cell in row] for row in table]


def reported(*arguments: str) -> dict[str, object]:
    """What `cdma bench software` would say, with made-up rates."""
    rates = ("compress_bytes_per_second", "decompress_bytes_per_second")
    lines = [
        {"codec": codec, "ratio": 2.0} | dict.fromkeys(rates, 1e9 * at) for at, codec in enumerate(CODECS, 1)
    ]
    return {"benches": [{"rows": lines}]}


def test_the_table_of_rates_is_the_one_of_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software_results, "run", reported)
    made = rows(software_results.rates(1))
    assert shape(made) == shape(in_document("rates"))
    assert [row[0] for row in made[2:]] == [f"`{name}`" for name in PRESETS]
    assert made[2] == ["`zvc32`", "9.0", "0.22 / 0.22", "0.33 / 0.33", "0.44 / 0.44", "0.67 / 0.67"]


def test_the_table_of_files_is_the_one_of_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs the commands, on a file of a few kilobytes."""
    monkeypatch.setattr(software_results, "_FILE_NUMBERS", 1000)
    made = rows(software_results.files(1))
    assert shape(made) == shape(in_document("files"))


def test_seconds_in_files_are_a_part_of_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw, packed, back = (tmp_path / name for name in ("raw.npy", "packed.cdma", "back.npy"))
    np.save(raw, np.arange(1 << 20, dtype=np.float32))
    for paths in ((raw, packed), (packed, back)):
        command = "compress" if paths[0] is raw else "decompress"
        assert app.main([command, *map(str, paths), "--json"]) == 0
        summary = json.loads(capsys.readouterr().out)
        assert 0 < summary["file_seconds"] < summary["seconds"]
    assert app.main(["compress", str(raw), str(packed)]) == 0
    assert re.search(
        r", in \d+\.\d\d s, \d+\.\d\d of them reading and writing$", capsys.readouterr().out.strip()
    )


def test_a_table_is_put_in_place_of_the_one_before() -> None:
    mark = software_results.mark
    document = f"text\n\n{mark('rates', 'begin')}{mark('rates', 'end')}\nafter\n"
    once = software_results.put("rates", "one\n", document)
    assert once.index("text") < once.index("one") < once.index("after")
    assert software_results.put("rates", "two\n", once) == once.replace("one", "two")


def test_the_round_of_median_time_counts() -> None:
    rounds = [{"raw_bytes": 10**9, "seconds": seconds, "file_seconds": 0.5} for seconds in (4.0, 1.0, 2.0)]
    line = software_results.files_row("compress", rounds)
    assert line == ("`cdma compress`", "1,000,000,000", "2.00", "0.50", "1.50", "0.50")
