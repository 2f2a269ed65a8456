"""``cdma intake``: every line is there with a command that exists, and says what was run of it and what came of that."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cdma import app
from cdma.app import main
from cdma.commands.intake import command, record
from cdma.synth.asic import netlist
from cdma.verif.campaigns import regression
from cdma.verif.campaigns.faults import campaign
from cdma.verif.campaigns.faults.scene import Tally, Verdict
from cdma.verif.campaigns.regression import Regression
from cdma.verif.engine.design import EngineDesign
from cdma.verif.simulator.simulate import Outcome
from tests.support.commands import Refused
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("generated_once")

_TINY = ("compressor", "--lanes", "1", "--word-bits", "8", "--window", "8")
#: The one that other tests build too.
_ENGINE = ("engine", *EngineDesign().options().split())
#: What the meeting asks of every block.
_LINES = (
    *("what", "verilog", "parameters", "clocks", "resets", "ports", "interfaces", "protocol", "ordering"),
    *("errors", "latency", "throughput", "area", "memories", "power", "security", "verdict", "lint"),
    "netlist",
    *("tests", "gates", "four-states", "coverage", "proofs", "mutants", "limits", "never-tried"),
)
#: What it asks of some alone.
_MORE_LINES = {
    "compressor": ("fpga",),
    "engine": ("fpga", "outstanding", "4kib", "narrow", "waveform", "faults"),
    "dequantiser": (),
}
#: What generating a block shows.
_GENERATED = ("what", "verilog", "parameters", "clocks", "ports", "interfaces", "memories")

#: What nothing can show.
_IMPOSSIBLE = {"power", "limits", "never-tried"}


def _intake(folder: Path, *words: str | Path, status: int = 0) -> dict[str, Any]:
    """What is written."""
    assert main(["intake", *map(str, words), "-o", str(folder)]) == status
    told: dict[str, Any] = json.loads((folder / f"cdma_{words[0]}_intake.json").read_text())
    return told


def _lines(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {line["key"]: line for section in told["sections"] for line in section["lines"]}


@pytest.fixture(
    scope="module",
    params=[_TINY, _ENGINE, ("dequantiser", "--no-init", "--lanes", "4")],
    ids=lambda words: words[0],
)
def bare(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, generated_once: None
) -> tuple[Path, dict[str, Any]]:
    """The intake of a block for which nothing was run: its page, and what it says."""
    folder = tmp_path_factory.mktemp(request.param[0])
    return folder / f"cdma_{request.param[0]}_intake.html", _intake(folder, *request.param)


@pytest.mark.slow
def test_every_line_is_there_with_commands_that_exist(bare: tuple[Path, dict[str, Any]]) -> None:
    path, told = bare
    lines = _lines(told)
    assert set(lines) == {*_LINES, *_MORE_LINES[told["block"]]}
    page = path.read_text()
    parser = app.parser()
    for key, line in lines.items():
        assert f'<article id="{key}"' in page
        assert f'<a href="#{key}">' in page
        assert line["commands"]
        for shown in line["commands"]:
            program, *words = shlex.split(shown)
            assert program == "cdma"
            assert parser.parse_args(words).run is not None


@pytest.mark.slow
def test_runs_that_were_not_made_are_not_shown(bare: tuple[Path, dict[str, Any]]) -> None:
    path, told = bare
    lines = _lines(told)
    shown = [key for key, line in lines.items() if line["status"] == "shown"]
    assert sorted(shown) == sorted(_GENERATED)
    left = [line for line in lines.values() if line["status"] != "shown"]
    assert {line["status"] for line in left} == {"not shown"}
    assert not any(line["date"] or line["revision"] for line in left)
    assert all(lines[key]["date"] and lines[key]["revision"] for key in _GENERATED)
    page = path.read_text()
    # At the head of each line, and where it would be shown.
    impossible = page.count("Nothing can show it; what comes nearest is")
    assert impossible == len(_IMPOSSIBLE & set(lines)) == 3
    assert page.count("Would be shown by") == len(left) - impossible
    assert len(re.findall(r'</h3><span class="badge open">○ not shown</span>', page)) == len(left)
    assert lines["verdict"]["answer"] == "Nothing was tried."
    assert told["holds"] is True


@pytest.mark.slow
def test_the_page_needs_nothing_else_and_its_links_lead_somewhere(bare: tuple[Path, dict[str, Any]]) -> None:
    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.places: set[str] = set()
            self.links: set[str] = set()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            values = dict(attributes)
            self.places.add(values.get("id") or "")
            self.links |= {values[name] or "" for name in ("href", "src") if name in values}
            if tag not in ("meta", "img"):
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    reader = Reader()
    reader.feed(bare[0].read_text())
    assert reader.open == []
    assert {link[0] for link in reader.links} == {"#"}
    assert {link[1:] for link in reader.links} <= reader.places


@pytest.mark.slow
def test_records_of_the_very_configuration_are_found(tmp_path: Path) -> None:
    lines = _lines(_intake(tmp_path, "decompressor"))
    for key in ("area", "fpga", "throughput", "latency"):
        assert lines[key]["status"] == "from a record"
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", lines[key]["date"])
        assert re.fullmatch(r"[0-9a-f]{7}", lines[key]["revision"])
    assert {row["direction"] for row in lines["throughput"]["data"]} == {"decompress"}


def _fake_regression(monkeypatch: pytest.MonkeyPatch, failing: str | None) -> None:
    """All tests pass but the one that is ``failing``."""

    def verify(design: Any, **given: Any) -> Regression:
        tests = [point.name for point in regression.plan_of(design).choose(design)]
        fails = {name: "17 < 18" if name == failing else None for name in tests}
        return Regression(
            design, 1, 9, [Outcome(name, failure, 1, 2, 3, 4) for name, failure in fails.items()]
        )

    monkeypatch.setattr(regression, "verify", verify)


@pytest.mark.verilator
def test_a_regression_that_passes_shows_what_it_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_regression(monkeypatch, None)
    told = _intake(tmp_path, *_TINY, "--run", "tests")
    lines = _lines(told)
    for key in ("tests", "resets", "protocol", "ordering", "errors", "security", "verdict"):
        assert lines[key]["status"] == "shown"
    assert lines["gates"]["status"] == "not shown"
    said = lines["verdict"]["answer"]
    assert said == "Everything that was tried holds: 1 of 8 lines of the certificate; 7 were not tried."
    assert told["again"] == "cdma intake compressor --lanes 1 --word-bits 8 --window 8 --run tests"


@pytest.mark.verilator
def test_a_certificate_that_fails_shows_as_failing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _fake_regression(monkeypatch, "malformed")
    told = _intake(tmp_path, *_TINY, "--run", "tests", status=1)
    lines = _lines(told)
    assert told["holds"] is False
    for key in ("tests", "errors", "protocol", "verdict"):
        assert lines[key]["status"] == "fails"
    # What other tests show is as it was.
    assert lines["resets"]["status"] == "shown"
    page = (tmp_path / "cdma_compressor_intake.html").read_text()
    assert re.search(
        r'<p class="verdict"><b class="fails" title="fails">✗</b> Something does not hold\.</p>', page
    )
    assert '<article id="tests" class="fails">' in page
    assert "test malformed: 17 &lt; 18 (again: cdma verify compressor --lanes 1 --word-bits 8" in page
    assert "does not hold:\n  test malformed: 17 < 18" in capsys.readouterr().out
    # It fails also where it is read from the file.
    again = _intake(tmp_path, *_TINY, "--certificate", tmp_path / "cdma_compressor_intake.json", status=1)
    assert _lines(again)["tests"]["status"] == "fails"
    assert again["holds"] is False


@pytest.mark.slow
@pytest.mark.verilator
def test_a_fault_that_is_silent_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally()
    tally.add(Verdict("flips", "own: 3", "detected"))
    tally.add(Verdict("flips", "own: 4", "silent", reason="a word is wrong"))
    monkeypatch.setattr(campaign, "run_parts", lambda parts, **_: [(parts[0], tally)])
    line = _lines(_intake(tmp_path, *_ENGINE, "--run", "faults", status=1))["faults"]
    assert (line["status"], line["fails"]) == ("fails", ["flips own: 4: a word is wrong"])
    assert line["answer"].startswith("2 faults; 1 of them")


def test_a_netlist_with_a_latch_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = netlist.Structure(12, 0, ("aclk",), ("a latch holds core.y[0]",))
    monkeypatch.setattr(netlist, "structure_of", lambda *_, **__: found)
    line = _lines(_intake(tmp_path, *_TINY, "--run", "netlist", status=1))["netlist"]
    assert (line["status"], line["fails"]) == ("fails", ["a latch holds core.y[0]"])
    assert line["answer"].startswith("12 flip-flops and 0 memories at the rising edge of aclk; 1 latch")


@pytest.mark.verilator
def test_findings_of_an_earlier_intake_are_taken_over_as_a_record(tmp_path: Path) -> None:
    first = _lines(_intake(tmp_path, *_TINY, "--run", "lint"))
    assert first["lint"]["status"] == "shown"
    later = _lines(_intake(tmp_path, *_TINY, "--certificate", tmp_path / "cdma_compressor_intake.json"))
    assert later["lint"] == first["lint"] | {"status": "from a record"}
    assert later["ports"]["status"] == "shown"
    assert later["tests"]["status"] == "not shown"


def test_an_intake_of_another_verilog_is_refused(tmp_path: Path, refused: Refused) -> None:
    _intake(tmp_path, *_TINY)
    file = tmp_path / "cdma_compressor_intake.json"
    other = tmp_path / "other"
    words = ["intake", "compressor", "--lanes", "2", "-o", str(other), "--certificate"]
    assert "certificate is of another Verilog" in refused(*words, str(file))
    (tmp_path / "no.json").write_text('{"sections": [{"lines": [{}]}]}')
    assert "it is not what cdma intake writes" in refused(*words, str(tmp_path / "no.json"))
    assert "none.json: No such file or directory" in refused(*words, str(tmp_path / "none.json"))
    assert not other.exists()


def test_another_verilog_of_the_name_in_the_folder_fails(tmp_path: Path) -> None:
    text = _intake(tmp_path, *_TINY)["sha256"]
    assert text in (tmp_path / "cdma_compressor_intake.html").read_text()
    (tmp_path / "cdma_compressor.v").write_text("module other; endmodule\n")
    told = _intake(tmp_path, *_TINY, status=1)
    assert _lines(told)["verilog"]["status"] == "fails"
    assert "is not the Verilog that this is about" in told["fails"][0]
    assert (tmp_path / "cdma_compressor.v").read_text() == "module other; endmodule\n"


@pytest.mark.slow
def test_impossible_options_are_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.setattr(command, "run_parts", lambda *_: pytest.fail("something ran"))
    file = tmp_path / "file"
    file.touch()
    for words, message in (
        (["-o", str(file)], f"cannot write to the directory {file}"),
        (["-o", str(tmp_path), "--run", "tests", "--tests", "fido"], "tests has 'fido'; the tests of the"),
        (["-o", str(tmp_path), "--run", "area", "--liberty", "no.lib"], "the library no.lib cannot be read"),
        (["-o", str(tmp_path), "--mutants", "0"], "mutants is 0; it must be 1 or more"),
    ):
        assert message in refused("intake", *_TINY, *words)
    assert "registers is false" in refused(
        "intake", *_ENGINE, "--no-registers", "--run", "speed", "-o", str(tmp_path)
    )
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.slow
@pytest.mark.verilator
def test_runs_are_shown(tmp_path: Path) -> None:
    few = ("--tests", "lengths", "--packets", "5", "--jobs", "1")
    lines = _lines(_intake(tmp_path, *_TINY, *few, "--run", "lint", "netlist", "speed", "tests"))
    for key in ("lint", "netlist", "latency", "throughput", "tests"):
        assert lines[key]["status"] == "shown"
    assert [row["test"] for row in lines["tests"]["data"]["tests"]] == ["lengths"]
    # One test of several shows no line that is about all of them.
    assert lines["protocol"]["status"] == "not shown"
    assert any(sentence.startswith("tests that were left out") for sentence in lines["tests"]["open"])


def test_documents_are_those_of_the_checkout_where_none_are_packaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an editable installation that is not strict."""
    monkeypatch.setattr(record, "files", lambda package: tmp_path)
    assert record.document("README.md") == (ROOT / "README.md").read_text(encoding="utf-8")


def test_an_intake_without_a_simulator(tmp_path: Path) -> None:
    """What is generated and what is on record needs no extra to be installed."""
    missing = ("cocotb", "cocotb_tools", "cocotbext", "vcd", "wavedrom", "verilator", "pyosys")
    code = f"import sys; sys.modules.update(dict.fromkeys({missing!r})); from cdma.app import main; sys.exit(main())"
    words = ["intake", *_TINY, "-o", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "cdma_compressor_intake.html").is_file()
