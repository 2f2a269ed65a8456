"""Searches: every sampler finds the best, the same with the same seed, in lots or one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from cdma.study.tuner import search as module
from cdma.study.tuner.search import SAMPLERS, MissingOptuna, Space, sampler_named, search, until_within


@dataclass(frozen=True)
class Point:
    x: int
    y: int
    z: int


SPACE = Space(Point, {"x": (1, 2, 4, 8), "y": (0, 1, 2, 3, 4, 5), "z": (7,)}, lambda point: point.y != 5)


def lengths(points: Sequence[Point]) -> list[float]:
    """The best is (4, 3, 7)."""
    return [1.0 + abs(point.x - 4) + 0.5 * abs(point.y - 3) for point in points]


def costs(sampler: str, trials: int = 20, **more: int) -> list[float]:
    return search(lengths, SPACE, lambda length: length or 0.0, sampler, trials, seed=1, **more)


def test_a_space_is_all_that_is_possible_once() -> None:
    assert len(list(SPACE)) == 4 * 5
    assert Point(8, 5, 7) not in SPACE
    alike = Space(lambda x, y: Point(x, y if x else 0, 0), {"x": (0, 1), "y": (1, 2, 3)})
    assert list(alike) == [Point(0, 0, 0), Point(1, 1, 0), Point(1, 2, 0), Point(1, 3, 0)]
    assert costs("grid") == lengths(list(SPACE))


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
    assert until_within(found, 1.0) == found.index(1.0) + 1
    assert until_within([5.0, 4.0, 3.1], 3.0) is None
    assert until_within([5.0, 4.0, 3.1], 3.0, 0.05) == 3


def test_lots_do_not_change_what_chance_chooses() -> None:
    lots = []

    def seen(points: Sequence[Point]) -> list[float]:
        lots.append(len(points))
        return lengths(points)

    found = search(seen, SPACE, lambda length: length or 0.0, "random", 10, seed=1, at_once=4)
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
