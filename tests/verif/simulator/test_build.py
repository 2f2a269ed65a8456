"""Builds are kept by content, safe to ask for at once, and say what went wrong. Verilator's complaints: none of what is
printed, each that is put in, and how many each waiver hides. Icarus Verilog is found on PATH, or named as missing;
what it complains about is passed on.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cdma.hdl.deliver.flows import verilator_waivers, waivers
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.shell import Port
from cdma.verif.simulator import build as build_module
from cdma.verif.simulator.build import BuildError, build, build_four_state, find_icarus, lint
from cdma.verif.simulator.simulate import SimulationError, simulate
from cdma.verif.simulator.toolchain import ToolchainError
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.patience import own_cache
from tests.support.simulate import needs_icarus

TINY = """
module tiny(input aclk, input [7:0] d, output reg [7:0] q);
  always @(posedge aclk) q <= d;
endmodule
"""


@pytest.fixture
def own_designs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_cache(tmp_path, monkeypatch)


@pytest.mark.verilator
def test_same_content_is_built_once(own_designs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build(TINY, "tiny", ("aclk", "d", "q"))
    assert os.access(first, os.X_OK)

    def refuse(*_: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(build_module._Builder, "build", refuse)
    assert build(TINY, "tiny", ("aclk", "d", "q")) == first
    for other in ((TINY + "\n", "tiny", ("aclk", "d", "q")), (TINY, "tiny", ("aclk", "q"))):
        with pytest.raises(AssertionError, match="built again"):
            build(*other)


@pytest.mark.verilator
def test_builds_at_once_agree(own_designs: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(lambda _: build(TINY, "tiny", ("aclk", "d", "q")), range(2)))
    assert paths[0] == paths[1]
    assert [path.name for path in (own_designs / "sim").iterdir()] == [paths[0].parent.name]


@pytest.mark.verilator
def test_broken_verilog_is_reported_and_not_kept(own_designs: Path) -> None:
    with pytest.raises(BuildError, match=r"Verilator on tiny failed with status 1:\n(.*\n)*.*syntax error"):
        build(TINY.replace("endmodule", "endmodul"), "tiny", ("aclk", "d", "q"))
    assert not list((own_designs / "sim").iterdir())


@pytest.mark.verilator
def test_a_test_that_does_not_exist_fails(own_designs: Path) -> None:
    executable = build(TINY, "tiny", ("aclk", "d", "q"))
    (outcome,) = simulate(
        executable, "tiny", "cdma.verif.stream.codec.tests.packets", ["nothing"], {"seed": 1}
    )
    assert outcome.failure is not None
    assert "without a result" in outcome.failure


def test_a_simulation_that_hangs_is_stopped(tmp_path: Path) -> None:
    script = tmp_path / "sim"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    (outcome,) = simulate(script, "tiny", "none", ["soak"], {}, timeout=0.3)
    assert outcome.failure == "the simulation was stopped after 0 seconds"


def _pretend(place: Path, status: int, **numbers: int) -> Path:
    """A program that leaves a result as a simulation does, and ends with a status."""
    record = {
        "test": "soak",
        "failure": None,
        "words": 1,
        "cycles": 1,
        "notes": {},
        "seconds": 0.1,
        **numbers,
    }
    program = place / "sim"
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys\n"
        f"open(json.loads(os.environ['CDMA_BENCH'])['result'], 'w').write({json.dumps(record)!r} + '\\n')\n"
        f"sys.exit({status})\n"
    )
    program.chmod(0o755)
    return program


def test_a_simulation_that_crashes_after_its_tests_is_noticed(tmp_path: Path) -> None:
    program = _pretend(tmp_path, 3, packets=1, checks=1)
    with pytest.raises(SimulationError, match="the simulation of tiny ended with status 3"):
        simulate(program, "tiny", "none", ["soak"], {})


@pytest.mark.parametrize(("packets", "checks"), [(0, 5), (5, 0)])
def test_a_test_that_checked_nothing_fails(tmp_path: Path, packets: int, checks: int) -> None:
    program = _pretend(tmp_path, 0, packets=packets, checks=checks)
    (outcome,) = simulate(program, "tiny", "none", ["soak"], {})
    assert outcome.failure == "the test checked nothing"


def test_a_test_that_checked_something_passes(tmp_path: Path) -> None:
    (outcome,) = simulate(_pretend(tmp_path, 0, packets=2, checks=9), "tiny", "none", ["soak"], {})
    assert (outcome.failure, outcome.packets, outcome.checks) == (None, 2, 9)


LINT_TINY = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))


def test_each_rule_that_is_waived_has_a_reason() -> None:
    assert [each.rule for each in waivers()] == [
        line.split()[-1] for line in verilator_waivers().splitlines() if line.startswith("lint_off")
    ]
    assert all(each.reason.endswith(".") for each in waivers())


@pytest.mark.verilator
def test_printed_verilog_is_clean_and_waivers_are_counted() -> None:
    found = lint(LINT_TINY.verilog(), LINT_TINY.top)
    assert found.complaints == []
    assert {each.rule: count > 0 for each, count in found.waived.items()}["DECLFILENAME"]


@pytest.mark.verilator
def test_a_fault_is_a_complaint_with_its_place() -> None:
    text = LINT_TINY.verilog().replace("endmodule", "wire [3:0] narrow = 5'd3;\nendmodule", 1)
    (complaint,) = lint(text, LINT_TINY.top).complaints
    assert complaint.startswith(f"%Warning-WIDTHTRUNC: {LINT_TINY.top}.v:")


@pytest.mark.verilator
def test_text_that_is_no_verilog_is_an_error() -> None:
    with pytest.raises(BuildError, match=r"cannot lint cdma_compressor\.v"):
        lint("module cdma_compressor;", LINT_TINY.top)


def test_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"no iverilog on PATH; install it, .* apt install iverilog$"):
        find_icarus()


def test_one_that_does_not_run_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("iverilog", "vvp"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(ToolchainError, match=r"^Icarus Verilog \(.*iverilog\) does not run; reinstall it"):
        find_icarus()


@needs_icarus
def test_icarus_broken_verilog_is_reported_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    ports = (Port("aclk", "input"), Port("aresetn", "input"), Port("q", "output"))
    with pytest.raises(BuildError, match=r"^Icarus Verilog on tiny failed with status \d+:\n"):
        build_four_state("module tiny (\n", "tiny", ports)
    assert not list((tmp_path / "four-state").iterdir())
