"""The coverage of one small block, end to end, and what fails a run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from cdma import CodecConfig, Format
from cdma.app import main
from cdma.hdl.spec.quantisation import Quantisation
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.verif.campaigns.coverage import collect as collecting
from cdma.verif.campaigns.coverage.collect import Coverage, collect, goals_of
from cdma.verif.campaigns.coverage.exclusions import Exclusion
from cdma.verif.campaigns.coverage.goals import Goal, Sample, evaluate
from cdma.verif.simulator.design import Design
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.stage.design import StageDesign
from tests.support.commands import Printed, Refused

DESIGN = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))


def sample(words: int, literals: int, **more: object) -> Sample:
    plain = {"error": 0, "held": [], "after": None, "gap": None, "table": []}
    return {"words": words, "literals": literals, **plain, **more}


def test_goals_say_which_bins_are_missing() -> None:
    goal = Goal("parity", "", lambda design: ("odd", "even"), lambda each, design: [each["parity"]])
    (found,) = evaluate([goal], [{"parity": "odd"}, {"parity": "odd"}], DESIGN)
    assert (dict(found.counts), found.holes, found.hit) == ({"odd": 2, "even": 0}, ["even"], 1)


def test_a_goal_is_for_the_designs_that_need_it() -> None:
    tables = [goal for goal in goals_of(DESIGN) if goal.name == "table by density"]
    assert not evaluate(tables, [], DESIGN)
    config = CodecConfig(Format(8, 8), 2, runtime_values=True)
    assert evaluate(tables, [], CodecDesign("compressor", config))


def test_packets_fall_into_bins() -> None:
    found = {
        each.goal.name: each for each in evaluate(goals_of(DESIGN), [sample(8, 8, held=["m_axis"])], DESIGN)
    }
    assert found["length by density"].counts["a window, all literals"] == 1
    assert found["held back by density"].counts["m_axis, all literals"] == 1
    assert found["error by held back"].counts["no error, m_axis"] == 1
    assert "one word, half literals" not in found["length by density"].counts, "it does not exist"


def short(result: Coverage) -> list[str]:
    return [failure.split(":")[0] for failure in result.failures]


@pytest.fixture(scope="module")
def small() -> Coverage:
    return collect(DESIGN, packets=500)


@pytest.mark.verilator
def test_the_regression_reaches_every_statement_and_branch_of_a_small_compressor(small: Coverage) -> None:
    assert small.passed, small.failures
    whole = small.code.total().shares
    assert whole["lines"].total > 100
    assert whole["branches"].total > 50
    assert whole["toggles"].hit > 500
    assert {row.block for row in small.code.blocks()} >= {"compressor", "compressor.core.packer"}
    assert json.loads(json.dumps(small.to_dict()))["passed"] is True


@pytest.mark.verilator
def test_coverage_below_its_goal_fails(
    small: Coverage,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    printed: Printed,
) -> None:
    never = Goal("never", "it does not happen", lambda design: ["this"], lambda each, design: [])
    unused = Exclusion("compressor", "no such line", "it is not there", lambda design: True)
    missed = evaluate([never], [], DESIGN)
    assert short(dataclasses.replace(small, reached=missed)) == ["the goal never misses this"]
    code = dataclasses.replace(small.code, unused=[unused])
    assert short(dataclasses.replace(small, code=code)) == ["an exclusion matches nothing"]
    code = dataclasses.replace(small.code, points=dict.fromkeys(small.code.points, 0))
    assert short(dataclasses.replace(small, code=code)) == [
        "0.00 % of lines, less than 100 %",
        "0.00 % of branches, less than 100 %",
    ]

    def fake(design: Design, **options: object) -> Coverage:
        return dataclasses.replace(small, reached=missed)

    monkeypatch.setattr(collecting, "collect", fake)
    options = ["coverage", "compressor", "--word-bits", "8", "--window", "8", "--lanes", "2"]
    assert main([*options, "--annotate", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "failed: the goal never misses this" in said
    assert (tmp_path / "coverage.html").is_file()
    monkeypatch.setattr(collecting, "collect", lambda design, **options: small)
    assert printed(*options)["goals"]


@pytest.mark.verilator
@pytest.mark.parametrize("block", STAGES)
def test_the_regression_of_a_small_stage_meets_all_goals(block: str) -> None:
    found = collect(StageDesign(block, StageConfig(Quantisation(), 2)), packets=200)
    assert found.passed, found.failures
    counts = {each.goal.name: each.counts for each in found.reached}
    assert ("report by held back" in counts) == (block == "quantiser")
    assert len(counts["kind by step"]) > 25


def test_a_packet_of_numbers_falls_into_bins() -> None:
    config = StageConfig(Quantisation(), 4)
    told: Sample = {"words": 6, "step": 1, "kinds": ["NaN, positive"], "reported": 1, "first": 5}
    told = {**told, "held": [], "before": 1, "gap": 1}
    design = StageDesign("quantiser", config)
    found = {each.goal.name: each for each in evaluate(goals_of(design), [told], design)}
    met = {name: [bin for bin, count in each.counts.items() if count] for name, each in found.items()}
    assert met == {
        "kind by step": ["NaN, positive, least step"],
        "length by step": ["beats and a part, least step"],
        "held back by length": ["beats and a part, nothing holds back"],
        "report by held back": ["one out of range, nothing holds back"],
        "first out of range": ["lane 1 of a later beat"],
        "empty by held back": [],
        "step before by gap": ["same step, at once"],
    }


def test_a_goal_of_more_than_everything_is_refused(refused: Refused) -> None:
    assert "0 to 100" in refused("coverage", "compressor", "--goal", "101")
