"""``cdma prove``: the list, the table, JSON, the cache, refusals."""

import pytest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))


def test_list(shown, printed):
    assert shown("prove", "fifo", "--list").startswith("fifo  nothing lost, doubled or out of order")
    assert {"property", "config", "method", "claim"} == set(printed("prove", "--list")[0])


@pytest.mark.slow
def test_proves_and_keeps(shown, printed, tmp_path):
    (row,) = printed("prove", "stream_register")
    assert (row["property"], row["status"], row["method"]) == ("stream_register", "proven", "pdr")
    assert list(row)[:6] == ["property", "config", "method", "depth", "status", "seconds"]
    assert len(list(tmp_path.glob("proofs/*.json"))) == 1
    assert shown("prove", "stream_register").split() == [
        *("property", "config", "method", "depth", "status", "seconds"),
        *("stream_register", "2", "bits", "pdr", "proven", f"{row['seconds']:.1f}"),
    ]
    assert "| `stream_register` | 2 bits | pdr |  | proven |" in shown(
        "prove", "stream_register", "--markdown"
    )
