"""``cdma soak``: what it counts, logs and refuses."""

import json
import time

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


def test_no_case_in_the_time_is_no_result(monkeypatch, refused):
    monkeypatch.setattr(soaks, "run_case", lambda case, jobs: time.sleep(0.3))
    assert "minutes is 0.001, in which no case has ended" in refused("soak", "--minutes", "0.001")


def test_json(failing_at_two, capsys, printed):
    assert main(["soak", "--minutes", "1", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["last"] == 2
    assert main(["soak", "--minutes", "1", "--first", "5", "--json"]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert (failure["case"], failure["failure"]) == (5, "a word is missing")
