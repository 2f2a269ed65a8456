"""``cdma faults``: what it counts, prints and refuses. ``cdma mutate``: the list, the counts, JSON, the goal, refusals.
``cdma prove``: the list, the table, JSON, the cache, refusals. ``cdma soak``: verdict, log, JSON. Results of made-up
campaigns: what does not hold, and what was not done.
"""

from __future__ import annotations

import argparse
import json
import time

import pytest

from cdma.app import main
from cdma.commands import mutate
from cdma.commands.intake.parts import proofs_result
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.result import Result
from cdma.verif.campaigns.faults import campaign as campaigns
from cdma.verif.campaigns.faults.scene import Tally, Verdict
from cdma.verif.campaigns.mutation.campaign import KILLED, SURVIVED
from cdma.verif.campaigns.mutation.campaign import Verdict as Judgement
from cdma.verif.campaigns.mutation.mutants import Mutant
from cdma.verif.campaigns.soak import soak as soaks
from cdma.verif.proofs.proof import FAILED, PROVEN, UNKNOWN, VACUOUS, choose
from cdma.verif.proofs.proof import Result as Proof
from cdma.verif.stream.codec.design import CodecDesign


@pytest.fixture
def found(monkeypatch):
    """Parts that have one case each, of which that of ``streams`` is silent."""

    def run(parts, *, jobs, scheduler):
        for part in parts:
            outcome = "silent" if part.campaign == "streams" else "detected"
            yield part, Tally.of([Verdict("flips", "7", outcome, 0, "OK" if outcome == "silent" else "")])

    monkeypatch.setattr(campaigns, "run_parts", run)


def test_a_silent_fault_fails_and_can_be_run_again(found, capsys):
    assert main(["faults", "streams", "--count", "5", "--seed", "4", "--formats", "zvc8"]) == 1
    said = capsys.readouterr().out
    assert "flips: silent: OK" in said
    assert "again: cdma faults streams --seed 4 --formats zvc8 --case 'zvc8: 7'" in said


def test_what_was_found_is_shown_where_it_is_interrupted(monkeypatch, capsys):
    def run(parts, *, jobs, scheduler):
        yield parts[0], Tally.of([Verdict("flips", "7", "silent", 0, "OK")])
        assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["streams", "zvc8", "1", "0"]
        raise KeyboardInterrupt

    monkeypatch.setattr(campaigns, "run_parts", run)
    assert main(["faults", "streams", "--count", "5", "--formats", "zvc8", "own"]) == 130
    said = capsys.readouterr().out
    assert "1 of 2 parts have run, the others were not waited for" in said
    assert "flips: silent: OK\n  again: cdma faults streams" in said


@pytest.mark.parametrize("settings", ['clocks = "device,host,registers"', "channels = 2"])
def test_all_campaigns_that_an_engine_may_have(found, capsys, tmp_path, settings):
    (tmp_path / "engine.toml").write_text(settings)
    assert main(["faults", "--config", str(tmp_path / "engine.toml"), "--count", "5", "--json"]) == 1
    assert list(json.loads(capsys.readouterr().out)) == list(campaigns.CAMPAIGNS)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_verdict_closes_it(interrupted, monkeypatch, capsys):
    """Rows come before it, also where it is interrupted."""

    def run(proof, **options):
        if interrupted and proof.config != first.config:
            raise KeyboardInterrupt
        status = "proven" if proof.config == first.config else "failed"
        return Proof(proof.name, proof.config, "pdr", None, status, 1.0, 1, proof.claim, "at verif/x.py:3")

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


@pytest.fixture
def failing_at_two(monkeypatch):
    """Cases that fail from the second one on."""

    def run(case, jobs=1):
        failed = case.number >= 2
        return soaks.Result(case, "soak" if failed else "", "a word is missing" if failed else "", 10, 1.0)

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


TINY = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))


def _proof(status: str, detail: str = "") -> Proof:
    return Proof("packer", "2 lanes", "pdr", None, status, 1.0, 2, "words come out", detail=detail)


def _mutants(monkeypatch: pytest.MonkeyPatch, *results: str) -> Result:
    mutant = Mutant("compressor.core", "m", "mutate", "", "bit 0 of A inverted")
    verdicts = [Judgement(mutant, result, "", "not decided") for result in results]
    monkeypatch.setattr(mutate, "_verdicts", lambda *_: [("compressor", verdicts)])
    found, _ = mutate.campaign(argparse.Namespace(goal=mutate.GOAL), {"compressor": TINY})
    return found


def test_proofs_fail_or_are_open() -> None:
    others = [
        _proof(FAILED, "packer.py:3"),
        _proof(VACUOUS, "no cover"),
        _proof(UNKNOWN, "no answer within 9 s"),
    ]
    result = proofs_result([], [*others, _proof(PROVEN)], ["lossless (2 lanes)"])
    assert result.fails == [
        "proof packer (2 lanes): failed, packer.py:3",
        "proof packer (2 lanes): vacuous, no cover",
    ]
    assert result.open == [
        "proof packer (2 lanes): no answer within 9 s",
        "proven in other, mostly smaller configurations alone: packer",
        "proofs that take long and were not run: lossless (2 lanes)",
    ]
    assert [row["own_configuration"] for row in result.data] == [False] * 4


def test_too_few_mutants_found_fail_and_survivors_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _mutants(monkeypatch, SURVIVED, KILLED)
    assert result.fails == ["50.0 % of the mutants were found; the goal is 95 %"]
    assert result.open == ["mutant of compressor.core survived: bit 0 of A inverted; not decided"]
    assert (result.data[0]["mutants"], len(result.data[0]["surviving"])) == (2, 1)
