"""What a regression consists of, as plain data: its tests, what each is about, and where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cdma.hdl.spec.errors import ParameterError

from .design import Design

__all__ = ["TestPlan", "TestPoint"]


def _any_design(design: Design) -> bool:
    return True


@dataclass(frozen=True)
class TestPoint:
    """One test of a plan.

    ``name``
        Names the cocotb test.
    ``statement``
        Says what stimulus the test has and what it checks.
    ``needs``
        Tells whether the test is for a design.
    ``starts``
        Counts the runs from different random start values, which must not show.
    ``weight``
        Says roughly how long the test takes, compared with the others.
    """

    name: str
    statement: str
    needs: Callable[[Design], bool] = _any_design
    starts: int = 1
    weight: int = 1

    __test__ = False  # not for pytest


@dataclass(frozen=True)
class TestPlan:
    """The regression of one kind of design.

    ``modules``
        Names the modules of the cocotb tests.
    ``points``
        Has the tests in the order in which they are reported.
    ``unit``
        Names what a budget counts.
    ``budget``
        Is the default budget of the longest test; the others take a share of it.
    """

    modules: tuple[str, ...]
    points: tuple[TestPoint, ...]
    unit: str
    budget: int

    __test__ = False  # not for pytest

    def choose(self, design: Design, names: Sequence[str] | None = None) -> list[TestPoint]:
        """The tests for a design, or those of them that are named."""
        points = [point for point in self.points if point.needs(design)]
        if names is None:
            return points
        known = [point.name for point in points]
        for name in names:
            if name not in known:
                raise ParameterError(
                    f"tests has {name!r}; the tests of the {design.block} are {', '.join(known)}"
                )
        if not names:
            raise ParameterError("tests is empty; a regression that runs nothing proves nothing")
        return [point for point in points if point.name in names]
