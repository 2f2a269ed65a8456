"""Both drivers, and the engine model, on the engine's Verilog under Verilator; what happens there is in
``tests/support/driver_tests.py``."""

from __future__ import annotations

import os

import pytest

from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.simulator.build import build as build_simulation
from cdma.verif.simulator.simulate import simulate
from tests.support.c_driver_library import SOURCE, build
from tests.support.engines import FIELDS_TO_A_BYTE, HALF_BYTES, TO_A_WORD
from tests.support.paths import ROOT
from tests.support.thorough import cases_of

pytestmark = pytest.mark.verilator


@pytest.mark.parametrize(
    "config",
    cases_of(
        {"small": SMALL, "to-a-word": TO_A_WORD, "fields": FIELDS_TO_A_BYTE, "half-bytes": HALF_BYTES},
        {"to-a-word", "half-bytes"},
    ),
)
def test_both_drivers_run_the_engine_and_the_model_agrees(tmp_path, monkeypatch, config):
    build(tmp_path, "c99", SOURCE)
    library = tmp_path / "driver.so"
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(":"),
    )
    design = EngineDesign(config)
    executable = build_simulation(design.watched(design.verilog()), design.top, design.port_names)
    settings = {"design": design.to_json(), "packets": 60, "seed": 1, "library": str(library)}
    drivers = ["python_driver", "python_driver_faults", "c_driver", "c_driver_faults"]
    tests = [*drivers, "engine_model"]
    outcomes = simulate(executable, design.top, "tests.support.driver_tests", tests, settings, timeout=300)
    assert [outcome.test for outcome in outcomes] == tests
    for outcome in outcomes:
        assert outcome.failure is None, f"{outcome.failure}\n{outcome.log[-3000:]}"
        assert outcome.checks >= 50
