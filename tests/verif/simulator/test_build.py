"""Builds are kept by content, safe to ask for at once, and say what went wrong."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cdma.verif.simulator import build as build_module
from cdma.verif.simulator.build import BuildError, build
from cdma.verif.simulator.simulate import SimulationError, simulate
from tests.support.patience import own_cache

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
