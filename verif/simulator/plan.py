"""The test plan of a regression, which the tests state by :func:`planned`, and the side of the simulation process:
settings in, results out.

``docs/site/reference.py`` makes the tables of the test plan from it.
"""

from __future__ import annotations

import ast
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from cdma.base.errors import ParameterError

from .simulate import Design

T = TypeVar("T")


@dataclass(frozen=True)
class TestPoint:
    """One test of a plan.

    ``name``: The name of the cocotb test.
    ``stimulus``, ``check``: What the test sends, and what it checks beyond what every test checks.
    ``needs``: Whether the test is for a design.
    ``starts``: Counts the runs from different random start values, which must not show.
    ``weight``: The rough time of the test, compared with the others.
    """

    name: str
    stimulus: str
    check: str
    needs: Callable[[Any], object] = lambda design: True
    starts: int = 1
    weight: int = 1

    __test__ = False  # not for pytest

    @property
    def statement(self) -> str:
        return f"{self.stimulus}: {self.check}"


def planned(
    stimulus: str,
    check: str,
    *,
    needs: Callable[[Any], object] = TestPoint.needs,
    starts: int = 1,
    weight: int = 1,
) -> Callable[[T], T]:
    """States the :class:`TestPoint` of a cocotb test.

    A plan is read where no simulator is installed, from the text of its modules: the arguments name nothing of a module.
    """
    return lambda test: test


def _planned_in(module: str) -> Iterator[TestPoint]:
    """The points of a module: above a function, or where a shared function becomes a test."""
    spec = find_spec(module)
    assert spec is not None, module
    assert spec.origin is not None, module
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        match node:
            case ast.AsyncFunctionDef(name=name, decorator_list=[ast.Call() as call, _]):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Call() as call)):
                pass
            case _:
                continue
        yield eval(compile(ast.Expression(call), spec.origin, "eval"), {"planned": partial(TestPoint, name)})


@dataclass(frozen=True)
class TestPlan:
    """The regression of one kind of design.

    ``package``, ``names``: The package of the cocotb tests, and its modules in the order in which their tests are
        reported.
    ``unit``, ``budget``: What a budget counts, and the default one of the longest test; the others take a share of it.
    """

    package: str
    names: tuple[str, ...]
    unit: str
    budget: int

    __test__ = False  # not for pytest

    @property
    def modules(self) -> list[str]:
        return [f"{self.package}.{name}" for name in self.names]

    @cached_property
    def points(self) -> Sequence[TestPoint]:
        """The tests in the order in which they are reported."""
        return [point for module in self.modules for point in _planned_in(module)]

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


def bench_settings() -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(os.environ["CDMA_BENCH"])
    return settings


@contextmanager
def leaving_result(
    test: str, tally: Callable[[], Mapping[str, Any]], explain: Callable[[BaseException], str]
) -> Iterator[None]:
    """Leaves the result of the test that runs inside, for :func:`.simulate` to find.

    ``tally`` returns the fields of an :class:`.Outcome` that the test counts; ``explain`` makes a sentence of a
    failure.
    """
    failure = None
    began = time.monotonic()
    try:
        yield
    except BaseException as error:
        failure = explain(error)
        raise
    finally:
        record = {**tally(), "test": test, "failure": failure, "seconds": time.monotonic() - began}
        _append(bench_settings()["result"], record)


def leave_row(row: Mapping[str, Any]) -> None:
    """Leaves a row of a measurement, for :func:`.measure` to find."""
    _append(bench_settings()["rows"], row)


def leave_samples(samples: Iterable[Mapping[str, Any]]) -> None:
    """Leaves the bench's observations for :mod:`cdma.verif.campaigns.coverage`, if requested."""
    path = bench_settings().get("samples")
    if path is not None:
        with Path(path).open("a") as file:
            file.writelines(json.dumps(sample) + "\n" for sample in samples)


def _append(path: str, record: Mapping[str, Any]) -> None:
    with Path(path).open("a") as file:
        file.write(json.dumps(record) + "\n")


#: The port that says when to count; when it falls, what was counted is written.
COUNTING = "counting"
#: How long a block is counted at rest.
REST_CYCLES = 512


@asynccontextmanager
async def counting(dut: Any) -> AsyncIterator[None]:
    """Counts what happens meanwhile."""
    from cocotb.triggers import ClockCycles  # the names above are of use where no simulator is installed

    dut.counting.value = 1
    yield
    dut.counting.value = 0
    await ClockCycles(dut.aclk, 3)
