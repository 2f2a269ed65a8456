"""Both drivers, and the engine model, on the engine's Verilog under Verilator; what happens there is in
``driver_bench.py``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from c_driver_library import SOURCE, build

from cdma.verif.build import build as build_simulation
from cdma.verif.engine_design import EngineDesign
from cdma.verif.simulate import simulate

pytestmark = pytest.mark.verilator


def test_both_drivers_run_the_engine_and_the_model_agrees(tmp_path, monkeypatch):
    build(tmp_path, "c99", SOURCE)
    library = tmp_path / "driver.so"
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]).rstrip(":"),
    )
    design = EngineDesign()
    executable = build_simulation(design.verilog(), design.top, design.ports())
    settings = {"design": design.to_json(), "packets": 150, "seed": 1, "library": str(library)}
    tests = ["python_driver", "c_driver", "engine_model"]
    outcomes = simulate(executable, design.top, "driver_bench", tests, settings, timeout=300)
    assert [outcome.test for outcome in outcomes] == tests
    for outcome in outcomes:
        assert outcome.failure is None, f"{outcome.failure}\n{outcome.log[-3000:]}"
        assert outcome.checks > 100
