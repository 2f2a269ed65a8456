"""``cdma prove``: the list, the table, JSON, the cache, refusals."""

import pytest

from cdma.app import main
from cdma.verif.proofs.proof import Result, choose


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
        *("1", "proofs:", "all", "hold"),
    ]
    assert "| `stream_register` | 2 bits | pdr |  | proven |" in shown(
        "prove", "stream_register", "--markdown"
    )


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_verdict_closes_it(interrupted, monkeypatch, capsys):
    """Rows come before it, also where it is interrupted."""

    def run(proof, **options):
        if interrupted and proof.config != first.config:
            raise KeyboardInterrupt
        status = "proven" if proof.config == first.config else "failed"
        return Result(proof.name, proof.config, "pdr", None, status, 1.0, 1, proof.claim, "at verif/x.py:3")

    first, *others = choose(["fifo"])
    monkeypatch.setattr("cdma.verif.proofs.runner.run_proof", run)
    assert main(["prove", "fifo"]) == (130 if interrupted else 1)
    said = capsys.readouterr().out
    assert said.splitlines()[1].split()[:4] == ["fifo", *first.config.split(), "pdr"]
    if interrupted:
        ran = f"1 of {1 + len(others)} proofs have run, the others were not waited for: all hold"
    else:
        ran = f"{1 + len(others)} proofs: {len(others)} failed"
    assert said.endswith(f"\n{ran}\n")
