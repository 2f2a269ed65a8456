"""Placing and routing with nextpnr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cdma.base.errors import ToolError, ToolTimeout
from cdma.base.install import install_command
from cdma.base.threads import tool_threads
from cdma.base.yosys import Progress, Yosys, run_tool, scratch
from cdma.synth.circuits import Circuit
from cdma.synth.errors import MeasureError

from .harness import PORTS, harness
from .output_registers import use_output_registers
from .targets import PIN_FILE, Target

__all__ = ["Routed", "find_nextpnr", "place_and_route"]


@dataclass(frozen=True)
class Routed:
    """One run of placing and routing: the clock it reached, and the ends of its longest path; without a clock, it was not
    routed in the time."""

    seed: int
    fmax_mhz: float | None
    start: str
    end: str


def find_nextpnr(family: str) -> tuple[str, tuple[str, ...]]:
    """Returns the distribution that has nextpnr for the family, and the command that runs it."""
    distribution = f"yowasp-nextpnr-{family}"
    module = distribution.replace("-", "_")
    if find_spec(module) is None:
        raise ToolError(f"{distribution} is not installed; it comes with: {install_command('synth')}")
    function = f"run_nextpnr_{family.replace('-', '_')}"
    call = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    return distribution, (sys.executable, "-c", call)


_STAGE = re.compile(r"Info: (Packing|Placing|Running [\w ]+|Routing)")
_UTILISATION = re.compile(r"Info:\s+(\w+):\s+(\d+)/\s*(\d+)\s+\d+%")
_FMAX = re.compile(r"Max frequency for clock\s+'[^']*': ([\d.]+) MHz")


def place_and_route(
    circuit: Circuit,
    target: Target,
    device: str,
    synthesis: str,
    nextpnr: tuple[str, ...],
    options: Sequence[str],
    seeds: Sequence[int],
    jobs: int,
    timeout: float | None,
    yosys: Yosys,
    say: Progress,
) -> Iterator[Routed]:
    """Places and routes the circuit in its harness, once per seed, ``jobs`` at once; a run is yielded when it has ended.

    ``synthesis``
        Yosys's command for the harness.
    ``timeout``
        Seconds for each run.
    """
    with scratch() as folder:
        (folder / "circuit.v").write_text(circuit.verilog)
        top = yosys.modules(f"hierarchy -top {circuit.top}\nproc", circuit.verilog)[circuit.top]
        (folder / "harness.v").write_text(harness(circuit.top, top["ports"]))
        yosys.run(
            f"read_verilog circuit.v harness.v\n{synthesis} -top harness -json harness.json\n",
            folder,
            lambda step: say(f"harness: {step}"),
        )
        if target.nextpnr in _CHANGES:
            design = json.loads((folder / "harness.json").read_text())
            _CHANGES[target.nextpnr](design["modules"]["harness"])
            (folder / "harness.json").write_text(json.dumps(design))
        if device in target.pins:
            pins = zip(PORTS, target.pins[device], strict=True)
            lines = [target.pin_line.format(port=port, pin=pin) for port, pin in pins]
            (folder / PIN_FILE).write_text("\n".join(lines) + "\n")
        what = f"the {circuit.block} does not fit into {target.name} {device}"
        with tool_threads(jobs) as pool:
            runs = [pool.submit(_route, folder, nextpnr, options, seed, what, timeout, say) for seed in seeds]
            for run in as_completed(runs):
                yield run.result()


def _begin_carries(module: dict[str, Any]) -> None:
    """Leaves the first carry of each chain open where it is constant, because nextpnr takes a carry from a carry alone.

    This changes what the circuit calculates, and neither its size nor its paths: no bitstream is made of it.
    """
    cells = module["cells"].values()
    constant = {bit for cell in cells if cell["type"] in ("VLO", "VHI") for bit in cell["connections"]["Z"]}
    for cell in cells:
        if cell["type"] == "CCU2":
            carry = cell["connections"].get("CIN", [])
            if all(bit in constant or isinstance(bit, str) for bit in carry):
                cell["connections"].pop("CIN", None)


#: How the netlist of the harness is changed before nextpnr reads it, by the family.
_CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "ecp5": use_output_registers,
    "nexus": _begin_carries,
}


def _route(
    folder: Path,
    nextpnr: tuple[str, ...],
    options: Sequence[str],
    seed: int,
    misfit: str,
    timeout: float | None,
    say: Progress,
) -> Routed:
    """One run of nextpnr, with a seed."""
    report = f"report{seed}.json"
    command = (*nextpnr, *options, "--seed", str(seed), "--json", "harness.json", "--report", report)
    try:
        with closing(run_tool(command, folder, timeout)) as lines:
            clocks = _clocks(lines, misfit, lambda stage: say(f"nextpnr, seed {seed}: {stage}"))
    except ToolTimeout:
        return Routed(seed, None, "", "")
    if not clocks:
        raise MeasureError("nextpnr found no path from register to register, so there is no clock to report")
    start, end = _ends(json.loads((folder / report).read_text()))
    # The first figure is an estimate after placing, the last one is after routing.
    return Routed(seed, clocks[-1], start, end)


def _clocks(lines: Iterable[str], misfit: str, say: Progress) -> list[float]:
    """Follows what nextpnr prints, and gives the clocks that it says."""
    clocks = []
    needed: list[str] = []
    for line in lines:
        if match := _UTILISATION.match(line):
            kind, used, available = match[1], int(match[2]), int(match[3])
            if used > available:
                needed.append(f"{used:,} {kind} of {available:,}")
        elif needed and not line.rstrip().endswith("%"):
            # The table of what is used has ended, and placing would only fail for the same reason.
            raise MeasureError(f"{misfit} in its harness: it needs {', '.join(needed)}")
        if match := _STAGE.match(line):
            say(match[1].lower())
        elif match := _FMAX.search(line):
            clocks.append(float(match[1]))
    return clocks


def _ends(report: dict[str, Any]) -> tuple[str, str]:
    """Returns the registers at the ends of the longest path between edges of the clock."""
    for path in report.get("critical_paths", []):
        if "async" not in path["from"] and "async" not in path["to"] and path["path"]:
            return _register(path["path"][0]["from"]["cell"]), _register(path["path"][-1]["to"]["cell"])
    return "", ""


def _register(cell: str) -> str:
    """Returns the register that a flip-flop holds a bit of, from the name that Yosys gave the flip-flop."""
    return re.sub(r"_(TRELLIS_FF|SB_DFF|FD1P3|DFF)\w*$", "", cell.replace("$auto$", ""))
