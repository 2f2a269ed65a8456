"""Verilator's counts are read, added up and laid out by block and line; exclusions are held to what they say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cdma.verif.campaigns.coverage.annotate import annotate
from cdma.verif.campaigns.coverage.code import code_coverage
from cdma.verif.campaigns.coverage.exclusions import EXCLUSIONS, Exclusion
from cdma.verif.campaigns.coverage.points import (
    BRANCH,
    LINE,
    TOGGLE,
    Point,
    PointError,
    merge_points,
    read_points,
)

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
    text, page = annotate(code_coverage(VERILOG, counts), tmp_path / "out", "a <b>")
    rows = text.read_text().splitlines()
    assert rows[0].endswith(VERILOG.splitlines()[0])
    assert rows[1].strip() == "never: a:0->1"
    assert rows[2].split()[:2] == ["12", "2"]
    assert rows[3].split()[:2] == ["-", "3"]
    assert rows[4].strip() == "^ if: never"
    assert "<h1>a &lt;b&gt;</h1>" in page.read_text()
    assert 'class="missing"' in page.read_text()


def test_every_exclusion_of_the_project_has_a_reason() -> None:
    for exclusion in EXCLUSIONS:
        assert len(exclusion.reason.split()) > 4, exclusion
