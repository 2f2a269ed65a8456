"""The regression on one engine: builds it, runs its cocotb tests, and brings back what they did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from .build import build
from .engine_design import EngineDesign
from .simulate import Outcome, simulate

__all__ = ["TESTS", "verify_engine"]

_MODULE = "cdma.verif.engine_tests"

#: The tests, each described in :mod:`.engine_tests`.
TESTS = (
    "soak",
    "lengths",
    "refusals",
    "windows",
    "bus_errors",
    "corrupt",
    "capacity",
    "aborts",
    "soft_resets",
    "watchdog",
    "silent_host",
    "halting",
    "registers",
)


def verify_engine(
    design: EngineDesign,
    tests: Sequence[str],
    *,
    seed: int = 1,
    transfers: int = 200,
    waves: Path | None = None,
    verilog: str | None = None,
    report: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Runs ``tests`` on one design; ``transfers`` is the budget of the longest.

    ``verilog`` replaces the design's own text, which is how the bench itself is tested.
    """
    text = design.verilog() if verilog is None else verilog
    executable = build(text, design.top, design.ports(), trace=waves is not None)
    settings = {"design": design.to_json(), "packets": transfers, "seed": seed}
    return simulate(executable, design.top, _MODULE, tests, settings, start=seed, waves=waves, report=report)
