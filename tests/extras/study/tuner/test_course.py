"""Courses of searches: the best after each evaluation, and each evaluation's time once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cdma.study.tuner.search import Course, Space, course, together


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
