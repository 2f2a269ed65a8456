"""Runs a component in Amaranth's own simulator."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

__all__ = ["Testbench", "simulate"]

Testbench = Callable[[Any], Coroutine[Any, Any, None]]


def simulate(dut: Elaboratable, *testbenches: Testbench, background: Testbench | None = None) -> None:
    """Runs ``testbenches`` side by side on ``dut`` until all of them have ended.

    ``background`` is one more, which need not end and comes before the others in every cycle. The clock, if ``dut``
    has one, is at 1 GHz.
    """
    simulator = Simulator(dut)
    simulator.add_clock(1e-9, if_exists=True)
    if background is not None:
        simulator.add_testbench(background, background=True)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run()
