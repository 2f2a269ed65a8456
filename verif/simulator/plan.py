"""What a regression consists of, as plain data: its tests, what each sends and checks, and where they are.

``docs/site/reference/tests.py`` makes the tables of the test plan from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cdma.base.errors import ParameterError

from .design import Design

__all__ = ["TestPlan", "TestPoint"]


def _any_design(design: Design) -> bool:
    """all"""
    return True


@dataclass(frozen=True)
class TestPoint:
    """One test of a plan.

    ``name``
        Names the cocotb test.
    ``stimulus``
        Says what the test sends.
    ``check``
        Says what it checks, beyond what every test checks.
    ``needs``
        Tells whether the test is for a design; its docstring says so in a few words.
    ``starts``
        Counts the runs from different random start values, which must not show.
    ``weight``
        Says roughly how long the test takes, compared with the others.
    """

    name: str
    stimulus: str
    check: str
    needs: Callable[[Design], bool] = _any_design
    starts: int = 1
    weight: int = 1

    __test__ = False  # not for pytest

    @property
    def statement(self) -> str:
        """Stimulus and check in one line."""
        return f"{self.stimulus}: {self.check}"


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
