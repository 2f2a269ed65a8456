"""Placing and routing with nextpnr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cdma.synth.circuits import Circuit
from cdma.synth.errors import MeasureError, ToolError
from cdma.synth.yosys import Progress, Yosys, run_tool, scratch

from .harness import harness
from .targets import Target

__all__ = ["Routed", "find_nextpnr", "place_and_route"]


@dataclass(frozen=True)
class Routed:
    """One run of placing and routing: the clock it reached, and the ends of its longest path."""

    seed: int
    fmax_mhz: float
    start: str
    end: str


def find_nextpnr(family: str) -> tuple[str, tuple[str, ...]]:
    """Returns the distribution that has nextpnr for the family, and the command that runs it."""
    distribution = f"yowasp-nextpnr-{family}"
    module = distribution.replace("-", "_")
    if find_spec(module) is None:
        raise ToolError(f"{distribution} is not installed; it comes with: pip install 'cdma[synth]'")
    call = f"import sys, {module}; sys.exit({module}.run_nextpnr_{family}(sys.argv[1:]))"
    return distribution, (sys.executable, "-c", call)


_STAGE = re.compile(r"Info: (Packing|Placing|Running [\w ]+|Routing)")
_FMAX = re.compile(r"Max frequency for clock\s+'[^']*': ([\d.]+) MHz")


def place_and_route(
    circuit: Circuit,
    target: Target,
    nextpnr: tuple[str, ...],
    options: Sequence[str],
    seeds: Sequence[int],
    yosys: Yosys,
    say: Progress,
) -> list[Routed]:
    """Places and routes the circuit in its harness, once per seed."""
    with scratch() as folder:
        (folder / "circuit.v").write_text(circuit.verilog)
        yosys.run(
            f"read_verilog circuit.v\nhierarchy -top {circuit.top}\nproc\nwrite_json ports.json\n", folder
        )
        ports = json.loads((folder / "ports.json").read_text())["modules"][circuit.top]["ports"]
        (folder / "harness.v").write_text(harness(circuit.top, ports))
        yosys.run(
            f"read_verilog circuit.v harness.v\n{target.synthesis} -top harness -json harness.json\n",
            folder,
            lambda step: say(f"harness: {step}"),
        )
        return [_route(folder, nextpnr, options, seed, say) for seed in seeds]


def _route(
    folder: Path, nextpnr: tuple[str, ...], options: Sequence[str], seed: int, say: Progress
) -> Routed:
    command = (*nextpnr, *options, "--seed", str(seed), "--json", "harness.json", "--report", "report.json")
    frequencies = []
    for line in run_tool(command, folder):
        if match := _STAGE.match(line):
            say(f"nextpnr, seed {seed}: {match[1].lower()}")
        elif match := _FMAX.search(line):
            frequencies.append(float(match[1]))
    if not frequencies:
        raise MeasureError("nextpnr found no path from register to register, so there is no clock to report")
    start, end = _ends(json.loads((folder / "report.json").read_text()))
    # The first figure is an estimate after placing, the last one is after routing.
    return Routed(seed, frequencies[-1], start, end)


def _ends(report: dict[str, Any]) -> tuple[str, str]:
    """Returns the registers at the ends of the longest path between edges of the clock."""
    for path in report.get("critical_paths", []):
        if "async" not in path["from"] and "async" not in path["to"] and path["path"]:
            return _register(path["path"][0]["from"]["cell"]), _register(path["path"][-1]["to"]["cell"])
    return "", ""


def _register(cell: str) -> str:
    """Returns the register that a flip-flop holds a bit of, from the name that Yosys gave the flip-flop."""
    return re.sub(r"_(TRELLIS_FF|SB_DFF)\w*$", "", cell.replace("$auto$", ""))
