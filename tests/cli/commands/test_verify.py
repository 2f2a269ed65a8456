"""``cdma verify`` as a user meets it: status, replay, JSON, the list of tests; the simulations are stand-ins."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cdma.app import main
from cdma.verif.campaigns import regression
from cdma.verif.campaigns.regression import Regression
from cdma.verif.simulator.simulate import Design, Outcome
from tests.support.commands import Printed, Shown

BLOCKS = ("compressor", "decompressor", "engine")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands in for the regression: keeps what was asked for; ``bound`` and ``soak`` fail as ``failures`` says."""
    kept: dict[str, Any] = {"failures": {}}

    def fake(design: Design, **options: Any) -> Regression:
        kept.update(options, design=design)
        names = ("soak", "bound")
        outcomes = [
            Outcome(name, kept["failures"].get(name), 3, 30, 300, 4000, 2.0, log="said") for name in names
        ]
        rows = map(json.dumps, kept.get("samples_left", ()))
        (options["samples"] / "soak-1.jsonl").write_text("".join(f"{row}\n" for row in rows))
        for outcome in outcomes:
            options["report"](outcome)
        return Regression(design, options["seed"], options["packets"] or 50, outcomes)

    monkeypatch.setattr(regression, "verify", fake)
    return kept


def test_status_and_replay(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    asked["failures"] = {"bound": "one cycle too many"}
    assert main(["verify", "decompressor", "--lanes", "4", "--no-init", "--seed", "7"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith(
        "decompressor 4x32, window 32, 1-bit codes, zero-value, no initial values, seed 7\n"
    )
    assert "bound failed: one cycle too many\n" in printed
    again = "cdma verify decompressor --lanes 4 --no-init --tests bound --seed 7 --packets 50 --waves\n"
    assert again in printed
    assert "said" not in printed
    assert main(["verify", "engine", "--no-registers", "--word-bits", "16", "--log"]) == 1
    printed = capsys.readouterr().out
    assert "cdma verify engine --no-registers --word-bits 16 --tests bound --seed 1 --transfers 50" in printed
    assert "\nsaid\n" in printed
    asked["failures"] = {}
    assert main(["verify", "compressor"]) == 0


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("budget", ["--packets", "--transfers"])
def test_every_option_arrives(block: str, budget: str, asked: dict[str, Any]) -> None:
    options = [budget, "9", "--seed", "3", "--jobs", "2", "--tests", "soak", "--waves", "--no-init"]
    assert main(["verify", block, *options]) == 0
    assert (asked["packets"], asked["seed"], asked["jobs"], asked["tests"]) == (9, 3, 2, ["soak"])
    assert str(asked["waves"]) == "waves"
    assert (asked["design"].block, asked["design"].init) == (block, False)
    assert not asked["four_state"]


def test_it_ends_with_speed_and_coverage(asked: dict[str, Any], shown: Shown, printed: Printed) -> None:
    text = shown("verify", "compressor")
    assert "all 2 tests passed, with seed 1: 8,000 cycles in 4.0 s, 2,000 per second\n" in text
    assert re.search(r"functional coverage: 0 of \d+ situations, 0 of \d+ goals in full\n", text)
    assert re.search(r"not reached in full: .*: 0 of \d+", text)
    told = printed("verify", "compressor")
    assert (told["seconds"], told["cycles_per_second"]) == (4, 2000)
    assert [row["cycles_per_second"] for row in told["tests"]] == [2000, 2000]
    assert {goal["hit"] for goal in told["coverage"]} == {0}
    assert told["failures"] == []


def test_chosen_tests_are_not_held_to_the_goals_of_all(asked: dict[str, Any], shown: Shown) -> None:
    text = shown("verify", "compressor", "--tests", "soak", "bound")
    assert re.search(r"functional coverage: 0 of \d+ situations, by 2 of 1\d tests\n", text)
    assert "goals" not in text
    assert "not reached in full" not in text


def test_what_has_run_is_shown_where_it_is_interrupted(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(design: Design, **options: Any) -> Regression:
        options["report"](Outcome("soak", None, 3, 30, 300, 4000, 2.0))
        assert re.search(r"\nsoak +passed +3 ", capsys.readouterr().out), "before the next test ends"
        options["report"](Outcome("bound", "one cycle too many", 3, 30, 300, 4000, 2.0, log="said"))
        raise KeyboardInterrupt

    monkeypatch.setattr(regression, "verify", interrupted)
    assert main(["verify", "compressor", "--seed", "7"]) == 130
    printed = capsys.readouterr().out
    assert re.search(r"\n2 of \d+ tests have run, the others were not waited for: 1 failed\n", printed)
    assert "again, with waves: cdma verify compressor --tests bound --seed 7" in printed


def test_a_script_that_is_interrupted_gets_nothing(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(design: Design, **options: Any) -> Regression:
        options["report"](Outcome("soak", None, 3, 30, 300, 4000, 2.0))
        raise KeyboardInterrupt

    monkeypatch.setattr(regression, "verify", interrupted)
    assert main(["verify", "compressor", "--json"]) == 130
    assert capsys.readouterr().out == ""


def test_observations_of_benches_are_counted(asked: dict[str, Any], printed: Printed) -> None:
    sample = {"words": 1, "literals": 0, "error": 0, "held": [], "after": None, "gap": None, "table": []}
    asked["samples_left"] = [sample]
    assert any(goal["hit"] for goal in printed("verify", "compressor")["coverage"])


@pytest.mark.parametrize("waves", [False, True])
def test_a_failure_says_where_log_and_waves_are(
    waves: bool,
    asked: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path / "cache"))
    asked["failures"] = {"bound": "one cycle too many"}
    folder = tmp_path / "waves" if waves else tmp_path / "cache" / "logs"
    options = ["--waves", str(folder)] if waves else []
    assert main(["verify", "compressor", "--seed", "7", "--json", *options]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    log = folder / ("bound.log" if waves else "compressor-bound-7.log")
    assert failure == {
        "test": "bound",
        "failure": "one cycle too many",
        "log": str(log),
        "waves": str(folder / "bound.vcd") if waves else None,
        "again": "cdma verify compressor --tests bound --seed 7 --packets 50",
    }
    assert log.read_text() == "one cycle too many\n\nsaid"
    assert main(["verify", "compressor", "--seed", "7", *options]) == 1
    printed = capsys.readouterr().out
    assert f"\n  log: {log}\n" in printed
    assert (f"\n  waves: {folder}/bound.vcd\n" in printed) == waves
    assert "1 of 2 tests failed, with seed 7" in printed
