"""The regression on one engine: builds it, runs its cocotb tests, and brings back what they did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from cdma.verif.simulator.build import build
from cdma.verif.simulator.simulate import Outcome, simulate

from .design import EngineDesign

__all__ = ["tests_for", "verify_engine"]

_MODULES = "cdma.verif.engine.tests,cdma.verif.engine.register_tests"

#: The tests of every engine, each described in :mod:`~cdma.verif.engine.tests`.
CHANNEL_TESTS = (
    "soak",
    "lengths",
    "limits",
    "refusals",
    "windows",
    "bus_errors",
    "corrupt",
    "capacity",
    "aborts",
    "hard_resets",
    "watchdog",
    "halting",
)
#: Those of an engine with registers besides, described in :mod:`~cdma.verif.engine.register_tests`.
REGISTER_TESTS = (
    "ring_windows",
    "ring_wrap",
    "ring_errors",
    "soft_resets",
    "registers",
    "register_bus",
    "silent_host",
)


def tests_for(design: EngineDesign) -> tuple[str, ...]:
    """All tests of an engine, with registers or without."""
    return CHANNEL_TESTS + (REGISTER_TESTS if design.config.registers else ())


def verify_engine(
    design: EngineDesign,
    tests: Sequence[str],
    *,
    seed: int = 1,
    transfers: int = 200,
    waves: Path | None = None,
    verilog: str | None = None,
    plusargs: Sequence[str] = (),
    report: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Runs ``tests`` on one design; ``transfers`` is the budget of the longest.

    ``verilog`` replaces the design's own text, which is how the bench itself is tested; ``plusargs`` reach it.
    """
    text = design.verilog() if verilog is None else verilog
    executable = build(text, design.top, design.ports(), trace=waves is not None)
    settings = {"design": design.to_json(), "packets": transfers, "seed": seed}
    return simulate(
        executable,
        design.top,
        _MODULES,
        tests,
        settings,
        start=seed,
        waves=waves,
        plusargs=plusargs,
        report=report,
    )
