"""The coverage of one small block, end to end, and what fails a run. Verilator's counts are read, added up and laid out
by block and line; exclusions are held to what they say.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path

import pytest

from cdma import CodecConfig, Format
from cdma.app import main
from cdma.hdl.spec.stage import STAGES, Quantisation, StageConfig
from cdma.verif.campaigns.coverage import code as collecting
from cdma.verif.campaigns.coverage.code import Coverage, annotate, code_coverage, collect, goals_of
from cdma.verif.campaigns.coverage.exclusions import (
    BRANCH,
    EXCLUSIONS,
    LINE,
    TOGGLE,
    Exclusion,
    Point,
    PointError,
    merge_points,
    read_points,
)
from cdma.verif.campaigns.coverage.goals import Goal, Sample, evaluate
from cdma.verif.simulator.simulate import Design
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
    assert (tmp_path / "coverage.txt").is_file()
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


def test_a_goal_of_more_than_everything_is_refused(refused: Refused) -> None:
    assert "0 to 100" in refused("coverage", "compressor", "--goal", "101")


VERILOG = """\
module cdma_compressor (input wire aclk, input wire a, output reg b);
  always @(posedge aclk) begin
    if (a) begin
      b <= 1'b1;
    end
  end
  assign c = a ? b : ~b;
endmodule
"""

#: As Verilator 5.48 writes them, with ^ and = for the characters that separate fields from each other and from their values.
RECORDS = """\
# SystemC::Coverage-3
C '^f=design.sv^l=1^n=56^t=toggle^page=v_toggle/cdma_compressor^o=a:0->1^h=cdma_compressor.core' 0
C '^f=design.sv^l=2^n=3^t=line^page=v_line/cdma_compressor^o=block^S=2^h=cdma_compressor.core' 12
C '^f=design.sv^l=3^n=5^t=branch^page=v_branch/cdma_compressor^o=if^S=3-4^h=cdma_compressor.core' 0
C '^f=design.sv^l=3^n=6^t=branch^page=v_branch/cdma_compressor^o=else^h=cdma_compressor.core' 12
C '^f=design.sv^l=7^n=16^t=branch^page=v_branch/cdma_compressor^o=cond_then^S=7^h=*' 5
"""

NEVER = Point("compressor.core", 3, 5, BRANCH, "if", (3, 4))


@pytest.fixture
def counts(tmp_path: Path) -> Counter[Point]:
    path = tmp_path / "coverage.dat"
    path.write_text(RECORDS.replace("^", "\x01").replace("=", "\x02"))
    return read_points(path)


def excludes(text: str, block: str = r"compressor\.core") -> Exclusion:
    return Exclusion(block, text, "it cannot be", lambda design: True)


def test_records_are_read(counts: Counter[Point]) -> None:
    assert counts == {
        Point("compressor.core", 1, 56, TOGGLE, "a:0->1"): 0,
        Point("compressor.core", 2, 3, LINE, "block", (2,)): 12,
        NEVER: 0,
        Point("compressor.core", 3, 6, BRANCH, "else"): 12,
        Point("compressor", 7, 16, BRANCH, "cond_then", (7,)): 5,
    }


def test_simulations_add_up_and_keep_what_neither_reached(tmp_path: Path, counts: Counter[Point]) -> None:
    path = tmp_path / "coverage.dat"
    total = merge_points([path, path])
    assert total == Counter({point: 2 * count for point, count in counts.items()})
    assert NEVER in total


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("line\n")
    with pytest.raises(PointError, match="not a coverage file"):
        read_points(tmp_path / "x")


def test_the_table_counts_lines_of_statements(counts: Counter[Point]) -> None:
    found = code_coverage(VERILOG, counts)
    shares = {row.block: row.shares for row in found.blocks()}
    lines, branches = shares["compressor.core"]["lines"], shares["compressor.core"]["branches"]
    assert (lines.hit, lines.total) == (1, 3)
    assert (branches.hit, branches.total) == (1, 2)
    assert shares["compressor"]["lines"].total == 0, "a line of an expression is no statement"
    assert found.missing() == [NEVER]
    assert found.describe(NEVER) == "compressor.core, line 3: «if»if (a) begin"


def test_an_excluded_point_is_not_missing(counts: Counter[Point]) -> None:
    found = code_coverage(VERILOG, counts, [excludes(r"«if»if \(a\)")])
    whole = found.total().shares
    assert (whole["lines"].percent, whole["branches"].percent) == (100, 100)
    assert (whole["lines"].excluded, whole["branches"].excluded) == (2, 1)
    assert not found.missing()
    assert not found.unused
    assert not found.wrong


@pytest.mark.parametrize("exclusion", [excludes("no such text"), excludes("«if»", "compressor")])
def test_an_exclusion_that_matches_nothing_is_told(counts: Counter[Point], exclusion: Exclusion) -> None:
    assert code_coverage(VERILOG, counts, [exclusion]).unused == [exclusion]


def test_an_exclusion_of_what_is_reached_is_told(counts: Counter[Point]) -> None:
    exclusion = excludes("«else»")
    assert code_coverage(VERILOG, counts, [exclusion]).wrong == [exclusion]


@pytest.mark.parametrize(("second", "unreachable"), [("1'b1", True), ("enable", False)])
def test_an_enable_is_tied_only_if_it_is_at_every_instance(second: str, unreachable: bool) -> None:
    instances = [
        f"  ram name_{name} (\n    .en({value})\n  );" for name, value in (("a", "1'b1"), ("b", second))
    ]
    verilog = "\n".join([*instances, "module ram (", "    if (en) begin"])
    points = {Point("ram", 8, 6, BRANCH, "else"): 0}
    exclusion = Exclusion("ram", r"«else»if \((?P<port>en)\)", "", lambda design: True, tied=True)
    assert bool(code_coverage(verilog, points, [exclusion]).excluded) is unreachable


def test_annotated_source_shows_counts_and_what_is_missing(tmp_path: Path, counts: Counter[Point]) -> None:
    text = annotate(code_coverage(VERILOG, counts), tmp_path / "out")
    rows = text.read_text().splitlines()
    assert rows[0].endswith(VERILOG.splitlines()[0])
    assert rows[1].strip() == "never: a:0->1"
    assert rows[2].split()[:2] == ["12", "2"]
    assert rows[3].split()[:2] == ["-", "3"]
    assert rows[4].strip() == "^ if: never"


def test_every_exclusion_of_the_project_has_a_reason() -> None:
    for exclusion in EXCLUSIONS:
        assert len(exclusion.reason.split()) > 4, exclusion
