"""``cdma prove``: the list, the table, JSON, the cache, refusals."""

import json

import pytest

from cdma.app import main


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))


def test_list(capsys):
    assert main(["prove", "fifo", "--list"]) == 0
    assert capsys.readouterr().out.startswith("fifo  nothing lost, doubled or out of order")
    assert main(["prove", "--list", "--json"]) == 0
    assert {"property", "config", "method", "claim"} == set(json.loads(capsys.readouterr().out)[0])


@pytest.mark.slow
def test_proves_and_keeps(capsys, tmp_path):
    assert main(["prove", "stream_register", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["property"], row["status"], row["method"]) == ("stream_register", "proven", "pdr")
    assert list(row)[:6] == ["property", "config", "method", "depth", "status", "seconds"]
    assert len(list(tmp_path.glob("proofs/*.json"))) == 1
    assert main(["prove", "stream_register"]) == 0
    assert capsys.readouterr().out.split() == [
        *("property", "config", "method", "depth", "status", "seconds"),
        *("stream_register", "2", "bits", "pdr", "proven", f"{row['seconds']:.1f}"),
    ]
    assert main(["prove", "stream_register", "--markdown"]) == 0
    assert "| `stream_register` | 2 bits | pdr |  | proven |" in capsys.readouterr().out
