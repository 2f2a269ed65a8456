"""Both drivers, and the engine model, on the engine's Verilog under Verilator; what happens there is in
``tests/support/driver_tests.py``.

The bench of an outsider, who knows the engine from the documents alone.

``python -m tests.support.outside 3000`` runs it for longer.
"""

from __future__ import annotations

import os

import pytest

from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.simulator.build import build as build_simulation
from cdma.verif.simulator.simulate import simulate
from tests.support.c_driver_library import SOURCE, build
from tests.support.engines import FIELDS_TO_A_BYTE, HALF_BYTES, TO_A_WORD
from tests.support.outside import CONFIGS, run
from tests.support.paths import ROOT
from tests.support.thorough import cases_of


@pytest.mark.verilator
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
        "PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(":")
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


#: Shapes of fields have what software does in another way: a CRC, descriptors of two entries, owners, pages. Several ports,
#: clocks, queues, codes of bytes and pipelines are the same to an outsider, and the regression has them in every run.
FURTHER = {
    "small", "bytes", "fields", "any-byte", "units", "units-to-any-byte", "shapes-of-any-byte", "pipelined",
    "owners", "pairs", "deltas",
}  # fmt: skip


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("name", cases_of({name: name for name in CONFIGS}, FURTHER))
def test_an_outsider_finds_what_the_documents_say(name: str) -> None:
    assert {outcome.test: outcome.failure for outcome in run(name, 4) if outcome.failure} == {}
