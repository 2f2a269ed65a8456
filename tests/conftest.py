"""Tests run in the order of their stages, and a table at the end says what became of each stage."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Generator, Iterator
from typing import Any

import hypothesis
import pytest

from tests.support.commands import printed, refused, shown  # noqa: F401
from tests.support.stages import Summary, in_order, processes
from tests.support.thorough import TURNS, turn_of
from tests.support.verilog_designs import generated_once  # noqa: F401
from tests.support.wheel import local_cluster

# Triton reads this when kernels are defined, whoever imports them first.
os.environ.setdefault("TRITON_INTERPRET", "1")
# As many tests run at once as there are cores: further threads of PyTorch would only spin until they have one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says only what else the machine does.
hypothesis.settings.register_profile(
    "suite", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("suite")

_SUMMARY = Summary()
_THRESHOLD = gc.get_threshold()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = in_order(
        items, lambda item: item.nodeid, lambda item: item.get_closest_marker("slow") is not None, workers
    )


def pytest_xdist_auto_num_workers() -> int:
    """How many processes ``-n auto`` starts."""
    return processes()


def pytest_report_header() -> str:
    return f"shapes of engines: turn {turn_of()} of 0 to {TURNS - 1}, by the count of revisions"


def pytest_collection_finish() -> None:
    """What stays until the end is no garbage: collections need not look at it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """After an elaboration the garbage is left for long, which is right for a command and keeps a design here."""
    if gc.get_threshold() != _THRESHOLD:
        gc.set_threshold(*_THRESHOLD)
        gc.collect()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    report.user_properties.append(("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _SUMMARY.add(report.nodeid, report.when, report.outcome, report.start, report.stop)
    if report.when == "teardown":
        process = getattr(getattr(report, "node", None), "gateway", None)
        _SUMMARY.add_peak(getattr(process, "id", ""), report.nodeid, dict(report.user_properties)["peak"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = _SUMMARY.lines()
    if lines:
        terminalreporter.section("stages")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two worker processes; a job is lost when it has killed two workers."""
    with local_cluster() as running:
        yield running
