"""What can be run for an intake, in the order in which it runs."""

from __future__ import annotations

from collections.abc import Mapping

from cdma.options import ENGINE

__all__ = ["PARTS", "parts_of"]

#: By name: what it shows, and how long it takes for a codec and for an engine.
PARTS: Mapping[str, str] = {
    "lint": "Verilator's warnings: seconds",
    "netlist": "latches, combinational loops, tri-states and clocks in the netlist: seconds to a minute",
    "speed": "latency and throughput in simulation: a minute or two",
    "area": "area, and the clock where OpenSTA is installed: minutes",
    "tests": "the regression: minutes",
    "gates": "the regression on gates: minutes to hours",
    "four-states": "the regression in Icarus Verilog: minutes to many hours",
    "coverage": "what the regression reaches: minutes",
    "proofs": "the proofs about this configuration and its blocks: minutes to an hour",
    "mutants": "faults put into this Verilog: minutes to hours",
    "faults": "faults at the ports of an engine, at one of 20 places, and 2,000 corrupted streams: minutes",
}


def parts_of(block: str) -> list[str]:
    """Those that a block has."""
    return [name for name in PARTS if name != "faults" or block == ENGINE]
