"""Runs a component in Amaranth's own simulator, and how willing the two sides of its streams are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

__all__ = ["PAIRS", "WILLING", "Testbench", "simulate"]

Testbench = Callable[[Any], Any]

#: How willing a side is to send or to receive, by a source of chance and the cycle: at random, or in phases that are
#: longer than a queue.
WILLING: dict[str, Callable[[random.Random, int], bool]] = {
    "always": lambda source, cycle: True,
    "half": lambda source, cycle: source.random() < 0.5,
    "seldom": lambda source, cycle: source.random() < 0.1,
    "mostly": lambda source, cycle: source.random() < 0.9,
    "by turns": lambda source, cycle: cycle // 50 % 2 == 0,
    "by other turns": lambda source, cycle: cycle // 70 % 2 == 1,
}

#: How willing the writer is, and how willing the reader.
PAIRS = [
    ("always", "always"),
    ("always", "half"),
    ("half", "always"),
    ("half", "half"),
    ("mostly", "mostly"),
    ("seldom", "mostly"),
    ("mostly", "seldom"),
    ("always", "by turns"),
    ("by turns", "by other turns"),
]


def simulate(dut: Elaboratable, *testbenches: Testbench) -> None:
    """Runs ``testbenches`` beside one another on ``dut`` until all have ended; the clock, if it has one, is at 1 GHz."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-9, if_exists=True)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run()
