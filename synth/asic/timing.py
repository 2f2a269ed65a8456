"""The clock period by static timing analysis with OpenSTA, if it is installed.

ABC's own delay leaves out the flip-flop: the time from its clock to its output, and the time that its input must be
stable before the next edge. Both figures have the wires that the library estimates by the number of their loads, if it has
a model of them; others exist only after placement.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cdma.base.errors import ToolError
from cdma.base.yosys import run_tool, scratch
from cdma.synth.asic.library.library import Library

from .netlist import Netlist, write_library


@dataclass(frozen=True)
class Timing:
    """The longest paths of a circuit in nanoseconds; None for a kind of path that it does not have.

    ``period_ns`` is from register to register, which depends on the circuit alone. ``input_ns`` is from an input to a
    register, ``output_ns`` from the clock to an output, ``through_ns`` from an input to an output. ``ends`` says for each
    kind, by its name without the unit, the ports or registers in which its longest path begins and ends. ``report``
    lists the cells of the longest path from register to register.
    """

    period_ns: float | None
    input_ns: float | None
    output_ns: float | None
    through_ns: float | None
    ends: Mapping[str, tuple[str, str]]
    report: str


@dataclass(frozen=True)
class OpenSta:
    """An installed OpenSTA."""

    executable: str
    version: str

    def __str__(self) -> str:
        return f"OpenSTA {self.version}"

    def run(self, script: str, folder: Path) -> str:
        """Runs ``script`` in ``folder``, to which all its paths are relative, and returns what it prints."""
        (folder / "run.tcl").write_text(script)
        return "".join(run_tool((self.executable, "-no_init", "-no_splash", "-exit", "run.tcl"), folder))

    def analyse(self, netlist: Netlist, library: Library) -> Timing:
        """Times a flattened netlist; all its clocks are assumed to be one ideal clock."""
        clocks = netlist.clocks(library)
        if not clocks:
            return Timing(None, None, None, None, {}, "")
        with scratch() as folder:
            (folder / "netlist.v").write_text(netlist.verilog)
            log = self.run(_script(netlist, library, write_library(library, folder), clocks), folder)
        return _parse(log, library.time_ns)


@cache
def find_opensta() -> OpenSta | None:
    """Returns the OpenSTA that is on the PATH as ``sta``, or None."""
    executable = shutil.which("sta")
    if executable is None:
        return None
    try:
        text = "".join(run_tool((executable, "-version"), Path.cwd()))
    except ToolError:
        return None
    match = re.search(r"\d+\.\d+\S*", text)
    return OpenSta(executable, match[0]) if match else None


#: Any period serves: a path is as long as the period without its slack.
_PERIOD_NS = 100.0

_GROUPS = {
    "period": ("[all_registers -clock_pins]", "[all_registers -data_pins]"),
    "input": ("$inputs", "[all_registers -data_pins]"),
    "output": ("[all_registers -clock_pins]", "$outputs"),
    "through": ("$inputs", "$outputs"),
}


def _script(netlist: Netlist, library: Library, names: list[str], clocks: list[str]) -> str:
    period = _PERIOD_NS / library.time_ns
    ports = netlist.modules[netlist.top]["ports"]
    inputs, outputs = (
        [
            _bit(name, index, len(port["bits"]))
            for name, port in ports.items()
            if port["direction"] == direction and name not in clocks
            for index in range(len(port["bits"]))
        ]
        for direction in ("input", "output")
    )
    load = library.load_ff / library.capacitance_ff
    lines = [
        *(f"read_liberty {name}" for name in names),
        "read_verilog netlist.v",
        f"link_design {netlist.top}",
        *([f"set_wire_load_model -name {netlist.wire_load}"] if netlist.wire_load else []),
        f"create_clock -name clock -period {period} [get_ports {{{' '.join(clocks)}}}]",
        f"set inputs [get_ports {{{' '.join(inputs)}}}]",
        f"set outputs [get_ports {{{' '.join(outputs)}}}]",
        f"set_load {load:.6g} $outputs",
        "set_output_delay 0 -clock clock $outputs",
    ]
    if inputs:
        lines += [
            f"set_driving_cell -lib_cell {library.driver.name} $inputs",
            "set_input_delay 0 -clock clock $inputs",
        ]
    for group, (start, end) in _GROUPS.items():
        if "$inputs" in (start, end) and not inputs:
            continue
        lines += [
            f'puts "=== {group}"',
            f"report_checks -path_delay max -from {start} -to {end} -format full_clock "
            "-fields {capacitance fanout} -digits 6",
        ]
    lines.append('puts "=== end"')
    return "\n".join(lines) + "\n"


def _bit(name: str, index: int, width: int) -> str:
    return name if width == 1 else f"{name}[{index}]"


def _parse(log: str, time_ns: float) -> Timing:
    error = re.search(r"^Error: (.*)", log, flags=re.MULTILINE)
    if error is not None:
        raise ToolError(f"OpenSTA did not time the circuit: {error[1]}")
    sections = dict(re.findall(r"^=== (\w+)\n(.*?)(?=^=== )", log, flags=re.MULTILINE | re.DOTALL))
    if not {"period", "output"} <= set(sections):
        raise ToolError(f"OpenSTA did not time the circuit: {' / '.join(log.splitlines()[-3:])}")
    length: dict[str, float | None] = {}
    ends: dict[str, tuple[str, str]] = {}
    for group in _GROUPS:
        text = sections.get(group, "")
        slack = re.search(r"(-?[\d.]+)\s+slack \((?:MET|VIOLATED)\)", text)
        length[group] = round(_PERIOD_NS - float(slack[1]) * time_ns, 6) if slack else None
        start, end = (
            re.search(rf"^{point}point: (\S+)", text, flags=re.MULTILINE) for point in ("Start", "End")
        )
        if start and end:
            ends[group] = (_register(start[1]), _register(end[1]))
    return Timing(
        length["period"],
        length["input"],
        length["output"],
        length["through"],
        ends,
        sections["period"].strip() if "period" in ends else "",
    )


def _register(instance: str) -> str:
    """Returns the register that a flip-flop holds a bit of, from the name that synthesis gave it; a port has its own."""
    return instance.replace("\\", "").partition("$_")[0]
