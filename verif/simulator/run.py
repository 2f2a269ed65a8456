"""One run of one cocotb test that must pass: for measurements, tensors and waveforms."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .build import build
from .design import Design
from .simulate import Outcome, SimulationError, simulate

__all__ = ["measure", "run_test"]


def run_test(
    design: Design,
    module: str,
    test: str,
    *,
    verilog: str | None = None,
    trace: bool = False,
    waves: Path | None = None,
    short: bool = False,
    timeout: float = 1800,
    **settings: Any,
) -> Outcome:
    """Builds a design and runs one test of ``module`` on it; raises :class:`SimulationError` if the test fails.

    ``verilog`` is the text of the design, for those who have it already. ``waves`` takes a VCD, and ``trace`` takes
    the build that can write one; a ``short`` run takes a build that is there sooner. The ``settings`` reach the test.
    """
    text = design.watched(design.verilog() if verilog is None else verilog)
    traced = trace or waves is not None
    executable = build(text, design.top, design.port_names, trace=traced, short=short)
    given = {"design": design.to_json(), "packets": 1, "seed": 1, **settings}
    (outcome,) = simulate(executable, design.top, module, [test], given, waves=waves, timeout=timeout)
    if outcome.failure is not None:
        raise SimulationError(f"{test} of the {design} failed: {outcome.failure}")
    return outcome


def measure(
    design: Design,
    module: str,
    *,
    report: Callable[[int], None] | None = None,
    timeout: float = 7200,
    **settings: Any,
) -> list[dict[str, Any]]:
    """Runs the test ``measure`` of ``module``; the rows that it wrote with :func:`.leave_row`, one per measurement.

    ``report`` is called with the number of new rows whenever there are some.
    """
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        rows = Path(directory) / "rows.jsonl"
        rows.touch()
        with _watching(rows, report):
            run_test(design, module, "measure", timeout=timeout, rows=str(rows), **settings)
        return [json.loads(line) for line in rows.read_text().splitlines()]


@contextmanager
def _watching(rows: Path, report: Callable[[int], None] | None) -> Iterator[None]:
    """Reports new rows while the block runs."""
    if report is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        seen, ended = 0, False
        while not ended:
            ended = done.wait(0.5)
            count = rows.read_bytes().count(b"\n")
            if count > seen:
                report(count - seen)
            seen = count

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
