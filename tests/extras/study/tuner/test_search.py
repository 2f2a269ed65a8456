"""Courses of searches: the best after each evaluation, and each evaluation's time once. Evaluations are made once, kept
in a file, and shared with whoever makes them. Searches: every sampler finds the best, the same with the same seed, in
lots or one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from cdma.base.errors import CdmaError
from cdma.study.tuner import search as module
from cdma.study.tuner.search import (
    SAMPLERS,
    Course,
    Kept,
    MissingOptuna,
    Space,
    course,
    sampler_named,
    search,
    together,
)


@dataclass(frozen=True)
class Point:
    x: int


SPACE = Space(Point, {"x": (5, 3, 4, 1)})


def test_the_best_after_each_evaluation_and_the_seconds_until_then() -> None:
    found = course(
        lambda points: [point.x for point in points],
        SPACE,
        lambda x: float(x or 0),
        lambda x: 100.0 * (x or 0),
        "grid",
        6,
        seed=1,
    )
    assert list(found.best) == [Point(5), Point(3), Point(3), Point(1), Point(1), Point(1)]
    assert list(found.least) == [5, 3, 3, 1, 1, 1]
    # The fifth and sixth were known.
    assert found.seconds == pytest.approx([500, 800, 1200, 1300, 1300, 1300], abs=1)
    assert found.seconds == sorted(found.seconds)
    assert found.evaluations == 4


def test_searches_together_cost_the_sum_and_what_has_ended_stays() -> None:
    one = Course(["a", "b"], [4.0, 2.0], [1.0, 2.0])
    other = Course(["x", "x", "y"], [9.0, 9.0, 3.0], [10.0, 20.0, 30.0])
    both = together({"one": one, "other": other})
    assert both.best == [{"one": "a", "other": "x"}, {"one": "b", "other": "x"}, {"one": "b", "other": "y"}]
    assert both.least == [13, 11, 5]
    assert both.seconds == [11, 22, 32]


@dataclass(frozen=True)
class Pair:
    a: int
    b: int


@dataclass(frozen=True)
class Sum:
    value: int


KINDS = (Pair, Sum)


def add(pair: Pair) -> Sum | None:
    return Sum(pair.a + pair.b) if pair.a else None


def test_evaluations_are_kept(tmp_path: Path) -> None:
    made = []

    def make(pair: Pair) -> Sum | None:
        made.append(pair)
        return add(pair)

    path, pairs = tmp_path / "kept.jsonl", [Pair(1, 2), Pair(0, 1)]
    for question in ("x", "x", "y"):
        kept = Kept(KINDS, question, make, path)
        assert kept([*pairs, *pairs]) == [Sum(3), None, Sum(3), None]
    assert made == pairs * 2
    with path.open("a") as file:
        file.write('{"question": "x", "design": {"a": 8}, "evaluation": null}\n')
    with pytest.raises(CdmaError, match=r"line 5 of .*kept.jsonl is no evaluation"):
        Kept(KINDS, "x", make, path)


def test_work_is_shared_and_may_end_in_any_order() -> None:
    lots = []

    def backwards(make, choices):
        lots.append(len(choices))
        return [(index, make(choices[index])) for index in reversed(range(len(choices)))]

    kept = Kept(KINDS, "x", add, share=backwards)
    assert kept([Pair(1, 1), Pair(2, 2)]) == [Sum(2), Sum(4)]
    assert kept([Pair(2, 2), Pair(3, 3)]) == [Sum(4), Sum(6)]
    assert lots == [2, 1]


@dataclass(frozen=True)
class SearchPoint:
    x: int
    y: int
    z: int


SEARCH_SPACE = Space(
    SearchPoint, {"x": (1, 2, 4, 8), "y": (0, 1, 2, 3, 4, 5), "z": (7,)}, lambda point: point.y != 5
)


def lengths(points: Sequence[SearchPoint]) -> list[float]:
    """The best is (4, 3, 7)."""
    return [1.0 + abs(point.x - 4) + 0.5 * abs(point.y - 3) for point in points]


def costs(sampler: str, trials: int = 20, **more: int) -> list[float]:
    return search(lengths, SEARCH_SPACE, lambda length: length or 0.0, sampler, trials, seed=1, **more)


def test_a_space_is_all_that_is_possible_once() -> None:
    assert len(list(SEARCH_SPACE)) == 4 * 5
    assert SearchPoint(8, 5, 7) not in SEARCH_SPACE
    alike = Space(lambda x, y: SearchPoint(x, y if x else 0, 0), {"x": (0, 1), "y": (1, 2, 3)})
    assert list(alike) == [
        SearchPoint(0, 0, 0),
        SearchPoint(1, 1, 0),
        SearchPoint(1, 2, 0),
        SearchPoint(1, 3, 0),
    ]
    assert costs("grid") == lengths(list(SEARCH_SPACE))


@pytest.mark.parametrize(
    ("sampler", "trials"),
    [("tpe", 60), ("random", 60), ("grid", 60), pytest.param("gp", 20, marks=pytest.mark.slow)],
)
def test_samplers_find_the_best(sampler: str, trials: int) -> None:
    if sampler in ("tpe", "gp"):
        pytest.importorskip("optuna")
    if sampler == "gp":
        pytest.importorskip("torch")
    found = costs(sampler, trials)
    assert len(found) == trials
    assert found == costs(sampler, trials)
    assert 1.0 in found


def test_lots_do_not_change_what_chance_chooses() -> None:
    lots = []

    def seen(points: Sequence[SearchPoint]) -> list[float]:
        lots.append(len(points))
        return lengths(points)

    found = search(seen, SEARCH_SPACE, lambda length: length or 0.0, "random", 10, seed=1, at_once=4)
    assert lots == [4, 4, 2]
    assert found == costs("random", 10)


@pytest.mark.parametrize(
    ("there", "stands_for"), [((), "tpe"), (("torch",), "tpe"), (("torch", "scipy"), "gp")]
)
def test_auto_is_the_best_that_can_be_computed(
    there: tuple[str, ...], stands_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: name in there or None)
    assert sampler_named("auto") == stands_for
    assert [sampler_named(name) for name in SAMPLERS[1:]] == list(SAMPLERS[1:])


def test_without_optuna_other_samplers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", nothing)
    with pytest.raises(MissingOptuna, match=r"needs the package optuna: .*--sampler random or grid"):
        costs("tpe")
