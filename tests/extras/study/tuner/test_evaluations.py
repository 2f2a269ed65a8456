"""Evaluations are made once, kept in a file, and shared with whoever makes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cdma.base.errors import CdmaError
from cdma.study.tuner.search import Kept


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
