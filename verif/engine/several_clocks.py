"""The clocks of an engine on the bench: where there are several, their ratios are random, and all have jitter."""

from __future__ import annotations

import random
import re
from typing import Any

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import reset_of

__all__ = ["clock_periods", "resets_of", "with_late_flops"]

#: Periods of other clocks than the core's, beside its period of 10 ns.
_PERIODS_NS = (4, 7, 9, 10, 11, 13, 23)
#: The part of half a period that jitter adds at most.
_JITTER = 0.2


def _clocks(config: EngineConfig) -> tuple[str, ...]:
    domains = config.domains
    used = (domains.core, domains.host, *([domains.registers] if config.registers else []))
    return tuple(dict.fromkeys(used))


def clock_periods(config: EngineConfig, rng: random.Random) -> dict[str, tuple[int, int]]:
    """Half a period of each clock and its jitter in steps of the simulation; the core's is the first."""
    # Only in a simulation.
    from cocotb.utils import get_sim_steps

    from .edges import PERIOD_NS

    core, *others = _clocks(config)
    half = get_sim_steps(PERIOD_NS, "ns") // 2
    periods = {core: (half, 0)}
    for clock in others:
        half = get_sim_steps(rng.choice(_PERIODS_NS), "ns") // 2
        periods[clock] = half, int(half * _JITTER)
    return periods


def resets_of(dut: Any, config: EngineConfig) -> list[Any]:
    """The resets of all clocks."""
    return [getattr(dut, reset_of(clock)) for clock in _clocks(config)]


#: A synchroniser in the text of a design.
_CELL = re.compile(r"^// Source: cdma/hdl/blocks/synchroniser.py.*?^endmodule$", re.MULTILINE | re.DOTALL)
#: What it becomes: a change in the last nanosecond before the edge is seen now or later, each bit by itself.
_LATE = """\
  reg {span}now = 0, old = 0;
  time changed = 0;
  always @(input_) begin
    old = now;
    now = input_;
    changed = $time;
  end
  reg {span}late;
"""


def with_late_flops(verilog: str) -> str:
    """The text of a design whose synchronisers see what changes just before their edge now or an edge later."""

    def late(cell: re.Match[str]) -> str:
        span = re.search(r"input  wire (\[.*?\] )?input_", cell[0])
        assert span is not None
        body = cell[0].replace(");\n", ");\n" + _LATE.format(span=span[1] or ""), 1)
        return body.replace(
            "first <= input_;",
            "late = $time - changed < 1000 ? $urandom : 0; first <= (old & late) | (input_ & ~late);",
        )

    return _CELL.sub(late, verilog)
