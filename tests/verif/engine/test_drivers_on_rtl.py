"""Both drivers, and the engine model, on the engine's Verilog under Verilator; what happens there is in
``tests/support/driver_tests.py``."""

from __future__ import annotations

import dataclasses
import os

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.simulator.build import build as build_simulation
from cdma.verif.simulator.simulate import simulate
from tests.support.c_driver_library import SOURCE, build
from tests.support.paths import ROOT

pytestmark = pytest.mark.verilator


#: A host port eight times as wide as the device port, and wider than a record needs.
WIDE_HOST = EngineConfig(
    format=Format(word_bits=16),
    lanes=8,
    dev_data_bits=64,
    host_data_bits=512,
    burst_beats=16,
    outstanding=4,
    latency=32,
    descriptors=4,
    ring_entries=16,
)


#: Sources and destinations at any word.
TO_A_WORD = dataclasses.replace(WIDE_HOST, alignment="word")


#: Codes of a field, and padding; streams at any byte.
FIELDS = dataclasses.replace(
    TO_A_WORD, format=Format(16, 32, 3, (0,), field_bits=8, rotate=1, zero=True, align=4)
)


@pytest.mark.parametrize(
    "config",
    [SMALL, WIDE_HOST, TO_A_WORD, FIELDS],
    ids=["small", "wide-host", "to-a-word", "fields"],
)
def test_both_drivers_run_the_engine_and_the_model_agrees(tmp_path, monkeypatch, config):
    build(tmp_path, "c99", SOURCE)
    library = tmp_path / "driver.so"
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(":"),
    )
    design = EngineDesign(config)
    executable = build_simulation(design.verilog(), design.top, design.port_names)
    settings = {"design": design.to_json(), "packets": 150, "seed": 1, "library": str(library)}
    drivers = ["python_driver", "python_driver_faults", "c_driver", "c_driver_faults"]
    tests = [*drivers, "engine_model"]
    outcomes = simulate(executable, design.top, "tests.support.driver_tests", tests, settings, timeout=300)
    assert [outcome.test for outcome in outcomes] == tests
    for outcome in outcomes:
        assert outcome.failure is None, f"{outcome.failure}\n{outcome.log[-3000:]}"
        assert outcome.checks >= 50
