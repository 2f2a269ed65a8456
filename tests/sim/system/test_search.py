"""The search over designs: areas from the tables, rates from the model, evaluations kept, samplers."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from cdma.hdl.spec.errors import CdmaError
from cdma.hdl.spec.format import Format
from cdma.sim.compare.word_bench import word_laws
from cdma.sim.support.data import DATA
from cdma.sim.support.toml_table import TableError
from cdma.sim.system.area_table import size_of
from cdma.sim.system.designs import Design, Evaluation, Limits, Space, Trainer
from cdma.sim.system.machine import load_machine
from cdma.sim.system.model import Model
from cdma.sim.system.networks import load_network
from cdma.sim.system.question import Question
from cdma.sim.system.search import Kept, best, cost, front, search, until_within
from cdma.sim.system.word_law import law_of
from tests.support.paths import ROOT
from tests.support.small_networks import QUICK, RECORDED

LIMITS = Limits(500.0, 0.9)
DESIGN = Design(8, 32, 32, 1, 2, 2, 16, 512)
SPACE = Space(
    {
        "lanes": (2, 4, 8),
        "word_bits": (32,),
        "window": (32,),
        "code_bits": (1,),
        "units": (1, 2, 4),
        "queue": (0, 2),
        "outstanding": (4, 16),
        "read_buffer_beats": (128, 512),
    }
)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(load_network("alexnet"), load_machine("titan_xp"), QUICK, RECORDED)


def made_up(design: Design) -> Evaluation:
    """A step that wider engines shorten, and no other parameter changes."""
    width = design.lanes * design.units
    return Evaluation(20.0 * width + design.queue, 1.0, 1 / min(width, 16))


def test_areas_are_those_of_the_documents() -> None:
    rows = json.loads((DATA / "areas.json").read_text())["codecs"]
    for block in ("compressor", "decompressor"):
        sweep = json.loads((ROOT / f"docs/figures/area-lanes/{block}-sweep.json").read_text())
        measured = {(one["config"]["lanes"], one["config"]["word_bits"]): one["kge"] for one in sweep}
        mine = {(row["lanes"], row["word_bits"]): row["kge"] for row in rows if row["block"] == block}
        assert len(mine) == 15
        assert all(measured[key] == kge for key, kge in mine.items())


def test_an_engine_as_measured() -> None:
    """docs/results.md: two units of 8 lanes of 32 bits have 105.8 kGE."""
    size = size_of(8, Format(), 2, 2, 512)
    assert size.logic_kge == pytest.approx(105.8, rel=0.02)
    assert size.memory_kbit == 628
    assert size_of(8, Format(), 2, 0, 512).logic_kge < size.logic_kge
    assert size_of(8, Format(), 2, 2, 1024).memory_kbit - 628 == pytest.approx(2 * 2 * 512 * 256 / 1000)


def test_what_is_in_flight_bounds_the_step(model: Model) -> None:
    evaluate = Trainer(model)
    whole = evaluate(DESIGN)
    starved = evaluate(replace(DESIGN, outstanding=2, read_buffer_beats=64))
    assert whole is not None
    assert starved is not None
    assert starved.step_s > whole.step_s
    assert starved.area_kge < whole.area_kge
    assert evaluate(replace(DESIGN, lanes=3)) is None


def test_evaluations_are_kept(tmp_path: Path) -> None:
    asked = []

    def make(design: Design) -> Evaluation:
        asked.append(design)
        return made_up(design)

    path = tmp_path / "kept.jsonl"
    for question in ("a", "a", "b"):
        kept = Kept(question, make, path)
        assert kept([DESIGN, DESIGN]) == kept([DESIGN]) * 2 == [made_up(DESIGN)] * 2
    assert len(asked) == 2
    with path.open("a") as file:
        file.write('{"question": "a", "design": {"lanes": 8}, "evaluation": null}\n')
    with pytest.raises(CdmaError, match=r"line 3 of .*kept.jsonl is no evaluation"):
        Kept("a", make, path)


def test_designs_beyond_a_limit_are_not_chosen() -> None:
    known = {design: made_up(design) for design in SPACE}
    chosen = best(known, Limits(170.0, 0.9))
    assert chosen is not None
    assert chosen.lanes * chosen.units == 8
    assert chosen.queue == 0
    assert best(known, Limits(170.0, 2.0)) is None
    assert cost(None, LIMITS) > cost(Evaluation(501.0, 1.0, 1e-3), LIMITS) > 999
    steps = [found.step_s for _, found in front(known, LIMITS)]
    assert steps == sorted(steps, reverse=True) == [1 / width for width in (2, 4, 8, 16)]


def test_work_is_shared_and_may_end_in_any_order() -> None:
    lots: list[int] = []

    def backwards(make, designs):
        lots.append(len(designs))
        return [(index, make(designs[index])) for index in reversed(range(len(designs)))]

    kept = Kept("made up", made_up, share=backwards)
    designs = list(SPACE)[:5]
    assert kept(designs) == [made_up(design) for design in designs]
    costs = search(kept, SPACE, LIMITS, "random", 10, seed=1, at_once=4)
    assert len(lots) == 4
    assert max(lots[1:]) <= 4
    assert costs == search(Kept("made up", made_up), SPACE, LIMITS, "random", 10, seed=1)


def test_a_question_is_the_model_by_names() -> None:
    question = Question("alexnet", "titan_xp", "pcie4")
    assert question.model().machine.link.name == "pcie4"
    found = pickle.loads(pickle.dumps(question))(DESIGN)
    assert found == Trainer(question.model())(DESIGN)


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_samplers_find_the_best(sampler: str) -> None:
    if sampler == "tpe":
        pytest.importorskip("optuna")
    kept = Kept("made up", made_up)
    costs = search(kept, SPACE, LIMITS, sampler, 40, seed=1)
    assert len(costs) == 40
    assert costs == search(kept, SPACE, LIMITS, sampler, 40, seed=1)
    least = min(cost(made_up(design), LIMITS) for design in SPACE)
    count = until_within(costs, least)
    assert count is not None
    assert all(value > 1.01 * least for value in costs[: count - 1])
    assert until_within([5.0, 4.0], 3.0) is None


def test_other_words_are_what_was_measured(model: Model) -> None:
    """The lines come from ``cdma bench words``, and words as wide as numbers with one code bit are what they always were."""
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
