"""cocotb tests of both drivers on the engine's Verilog; ``tests/verif/engine/test_drivers.py`` runs them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cocotb.task import bridge

from cdma.sim.engine.driver import Driver
from cdma.verif.engine.context import engine_test
from cdma.verif.engine.ring import RingBench

from .c_driver_library import CDriver, load
from .driver_exercise import BACK, PACKED, WINDOWS, Machine, exercise, exercise_faults
from .reference import compare


async def _run(
    bench: RingBench, make: Callable[[Machine], Any], what: Callable[[Machine, Any], None] = exercise
) -> None:
    machine = Machine(bench)
    bench.pauses(0.1)
    await bridge(lambda: what(machine, make(machine)))()


def _python(machine: Machine) -> Driver:
    return Driver(machine, windows=WINDOWS, idle=machine.idle, wait_irq=machine.wait_irq)


def _c(machine: Machine) -> CDriver:
    library = load(Path(json.loads(os.environ["CDMA_BENCH"])["library"]))
    return CDriver(library, machine, windows=WINDOWS, idle=machine.idle, wait_irq=machine.wait_irq)


@engine_test
async def python_driver(bench: RingBench, budget: int) -> None:
    """The Python driver."""
    await _run(bench, _python)


@engine_test
async def python_driver_faults(bench: RingBench, budget: int) -> None:
    """The Python driver, when things go wrong."""
    await _run(bench, _python, exercise_faults)


@engine_test
async def c_driver(bench: RingBench, budget: int) -> None:
    """The C driver, which the settings say where to find."""
    await _run(bench, _c)


@engine_test
async def c_driver_faults(bench: RingBench, budget: int) -> None:
    """The C driver, when things go wrong."""
    await _run(bench, _c, exercise_faults)


@engine_test
async def engine_model(bench: RingBench, budget: int) -> None:
    """The register-level model against the hardware."""
    machine = Machine(bench)
    bench.memory["host"].allow(PACKED, 0x8000)
    bench.memory["dev"].allow(BACK, 0x8000)
    bench.pauses(0.05)
    await bridge(lambda: compare(machine, Driver(machine, idle=machine.idle), budget))()
