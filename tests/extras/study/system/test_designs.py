"""Designs of an engine: areas from the tables, rates from the model, words as they were measured. The shares that
engines with several units reach, from measured rows.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace
from typing import Any

import pytest

from cdma.base.cache import NoCache
from cdma.base.toml_table import Table, TableError
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.study.compare.comparison import word_laws
from cdma.study.recorded import DATA
from cdma.study.system import designs
from cdma.study.system.density_table import with_run
from cdma.study.system.designs import (
    Design,
    Evaluation,
    Limits,
    NamedTrainer,
    Trainer,
    best,
    design_space,
    objective,
    pareto_front,
    size_of,
)
from cdma.study.system.engine_rate import (
    DIRECTIONS,
    EngineLaw,
    fit_shares,
)
from cdma.study.system.feature_maps import law_of
from cdma.study.system.machine import load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import load_network
from cdma.study.tuner.search import Space
from cdma.synth.asic.library.liberty import load_libraries
from cdma.synth.asic.measure import measure_block
from cdma.synth.asic.recipe import Options
from tests.extras.study.small_networks import QUICK, RECORDED
from tests.support.paths import ROOT, TINY

DESIGN = Design(8, 32, 32, 1, 2, 2, 16, 512)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(load_network("alexnet"), load_machine("titan_xp"), QUICK, RECORDED)


@pytest.mark.slow
def test_areas_are_those_of_the_documents_and_of_a_synthesis() -> None:
    library = load_libraries([TINY])
    records = json.loads((ROOT / "docs/results/records.json").read_text())
    for block in ("compressor", "decompressor"):
        sweep = records[f"{block}-lanes"]["figures"]
        measured = {(one["axes"]["lanes"], one["axes"]["word_bits"]): one for one in sweep}
        assert len(measured) == 15
        assert all(designs._measured().codecs[(block, *key)] == one for key, one in measured.items())
    # One is measured here, with another library: the last, which is the quickest.
    here = measure_block(block, CodecConfig(Format(8), 2), library, Options(), cache=NoCache())
    assert here.plain.kge == pytest.approx(measured[2, 8]["kge"], rel=0.15)


def test_an_engine_as_measured() -> None:
    """docs/results.md: two units of 8 lanes of 32 bits have 105.8 kGE."""
    size = size_of(8, Format(), 2, 2, 512)
    assert size.logic_kge == pytest.approx(105.8, rel=0.02)
    assert size.memory_kbit == 628
    assert size_of(8, Format(), 2, 0, 512).logic_kge < size.logic_kge
    assert size_of(8, Format(), 2, 2, 1024).memory_kbit - 628 == pytest.approx(2 * 2 * 512 * 256 / 1000)


def test_bytes_in_flight_bound_the_step(model: Model) -> None:
    evaluate = Trainer(model)
    whole = evaluate(DESIGN)
    starved = evaluate(replace(DESIGN, outstanding=2, read_buffer_beats=64))
    assert whole is not None
    assert starved is not None
    assert starved.step_s > whole.step_s
    assert starved.area_kge < whole.area_kge
    assert evaluate(replace(DESIGN, lanes=3)) is None


def test_a_named_trainer_evaluates_as_the_trainer_of_its_model() -> None:
    named = NamedTrainer("alexnet", "titan_xp", "pcie4")
    assert named.model().machine.link.name == "pcie4"
    found = pickle.loads(pickle.dumps(named))(DESIGN)
    assert found == Trainer(named.model())(DESIGN)


def test_other_words_are_what_was_measured(model: Model) -> None:
    """The lines come from ``cdma study bench words``, and words as wide as numbers with one code bit are as before."""
    rows = json.loads((DATA / "word_laws.json").read_text())["laws"]
    measured = [asdict(law) for law in word_laws()]
    assert len(rows) == len(measured) == (3 + 2 + 2 + 1) * 8
    for row, law in zip(rows, measured, strict=True):
        assert row == {name: pytest.approx(value, abs=1e-6) for name, value in law.items()}
    evaluate = Trainer(model)
    plain, halves, codes = (
        evaluate(replace(DESIGN, **other)) for other in ({}, {"word_bits": 16, "lanes": 16}, {"code_bits": 2})
    )
    assert plain is not None
    assert halves is not None
    assert codes is not None
    assert plain.step_s < min(halves.step_s, codes.step_s)
    law = law_of("fp32", Format())
    assert law.fraction(0.5) == pytest.approx(1 / 32 + 0.5)
    assert law.literals(0.5) == pytest.approx(0.5)
    with pytest.raises(TableError, match="words of 32 bits with numbers of bf16"):
        law_of("bf16", Format())


def test_the_space_of_a_network_has_the_words_of_its_numbers(model: Model) -> None:
    assert design_space(model).values["word_bits"] == (8, 16, 32)
    assert DESIGN in design_space(model)
    halves = Model(load_network("crepe"), model.machine, QUICK, with_run(RECORDED), RECORDED)
    assert design_space(halves).values["word_bits"] == (8, 16)


LIMITS = Limits(500.0, 0.9)
SPACE = Space(
    Design,
    {
        "lanes": (2, 4, 8),
        "word_bits": (32,),
        "window": (32,),
        "code_bits": (1,),
        "units": (1, 2, 4),
        "queue": (0, 2),
        "outstanding": (4, 16),
        "read_buffer_beats": (128, 512),
    },
)


def made_up(design: Design) -> Evaluation:
    """A step that wider engines shorten, and no other parameter changes."""
    width = design.lanes * design.units
    return Evaluation(20.0 * width + design.queue, 1.0, 1 / min(width, 16))


def test_designs_beyond_a_limit_are_not_chosen() -> None:
    known = {design: made_up(design) for design in SPACE}
    chosen = best(known, Limits(170.0, 0.9))
    assert chosen is not None
    assert chosen.lanes * chosen.units == 8
    assert chosen.queue == 0
    assert best(known, Limits(170.0, 2.0)) is None
    assert objective(None, LIMITS) > objective(Evaluation(501.0, 1.0, 1e-3), LIMITS) > 999
    steps = [found.step_s for _, found in pareto_front(known, LIMITS)]
    assert steps == sorted(steps, reverse=True) == [1 / width for width in (2, 4, 8, 16)]


_LAWS = dict.fromkeys(DIRECTIONS, EngineLaw(1.0, 2.0, 50.0))


def _rows(*rows: dict[str, Any]) -> list[Table]:
    """The rows in both directions."""
    base = {"memory_latency": 100, "pattern": "scattered"}
    return [
        Table("row", base | {"direction": direction} | row)
        for row in rows
        for direction in ("offload", "prefetch")
    ]


def test_start_and_end_are_left_out_and_only_scattered_literals_count() -> None:
    rows = _rows(
        {"units": 2, "density": 0.5, "bound": 900, "cycles": 1250},
        {"units": 2, "density": 0.5, "bound": 600, "cycles": 1250, "pattern": "one unit"},
    )
    assert fit_shares(rows, _LAWS)["compress"].at(2, 0.5) == pytest.approx(0.9)


def test_straight_lines_between_the_points_and_the_nearest_outside() -> None:
    rows = _rows(
        {"units": 2, "density": 0.2, "bound": 900, "cycles": 1250},
        {"units": 2, "density": 0.4, "bound": 800, "cycles": 1250},
        {"units": 8, "density": 0.2, "bound": 700, "cycles": 1250},
        {"units": 8, "density": 0.4, "bound": 600, "cycles": 1250},
    )
    shares = fit_shares(rows, _LAWS)["decompress"]
    assert shares.at(2, 0.3) == pytest.approx(0.85)
    assert shares.at(5, 0.2) == pytest.approx(0.8)
    assert shares.at(10, 0.9) == pytest.approx(shares.at(8, 0.4)) == pytest.approx(0.6)
    assert shares.at(1, 0.0) == pytest.approx(0.9)


def test_refused_rows() -> None:
    with pytest.raises(TableError, match="no more than start and end"):
        fit_shares(_rows({"units": 2, "density": 0.5, "bound": 90, "cycles": 200}), _LAWS)
    with pytest.raises(TableError, match="no row of direction 'compress'"):
        fit_shares([], _LAWS)
