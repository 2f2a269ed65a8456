"""``cdma soak``: what it counts, logs and refuses."""

import json

import pytest

from cdma.app import main
from cdma.verif.campaigns.soak import soak as soaks
from cdma.verif.campaigns.soak.soak import Result


@pytest.fixture
def failing_at_two(monkeypatch):
    """Cases that fail from the second one on."""

    def run(case, jobs=1):
        failed = case.number >= 2
        return Result(case, "soak" if failed else "", "a word is missing" if failed else "", 10, 1.0)

    monkeypatch.setattr(soaks, "run_case", run)


def test_the_first_failure_ends_it(failing_at_two, tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    assert main(["soak", "--minutes", "1", "--log", str(log)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("2 cases to 2 of seed 1: 20 cycles, 1 failed")
    assert "again: cdma verify" in said
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(row["case"], row["passed"]) for row in rows] == [(1, True), (2, False)]


def test_json(failing_at_two, capsys, printed):
    assert printed("soak", "--minutes", "1e-9")["last"] == 1
    assert main(["soak", "--minutes", "1e-9", "--first", "5", "--keep-going", "--json"]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert (failure["case"], failure["failure"]) == (5, "a word is missing")
