"""FPGA families, and placing and routing on them with nextpnr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cdma.base.errors import ToolError, ToolTimeout, install_command
from cdma.base.spread import tool_threads
from cdma.base.yosys import Progress, Yosys, run_tool, scratch
from cdma.synth.asic.paths import Circuit, MeasureError

from .harness import PORTS, harness, use_output_registers


@dataclass(frozen=True)
class Target:
    """A family of FPGAs: Yosys's command, the devices that nextpnr knows with their options, and how cells count.

    ``luts``, ``ram_bits``: The look-up tables of a cell, and its bits of block RAM.
    ``no_pads``: Yosys's option that leaves out the cells of pins, for a family that needs them in the harness.
    ``no_wide_luts``: Yosys's option that joins no look-up tables of four inputs to wider ones.
    ``variants``: More options of Yosys for some devices.
    ``pins``, ``pin_line``: A device's pins for the harness's ports (:data:`.harness.PORTS`), and a line of
        ``harness.pins`` with ``port`` and ``pin``, for a nextpnr that chooses none.
    """

    name: str
    synthesis: str
    nextpnr: str | None
    devices: dict[str, tuple[str, ...]]
    luts: dict[str, int]
    flip_flops: re.Pattern[str]
    ram_bits: dict[str, int]
    no_pads: str = ""
    no_wide_luts: str = ""
    variants: dict[str, str] = field(default_factory=dict)
    pins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pin_line: str = ""

    def command(self, device: str | None, *, pads: bool, wide_luts: bool = True) -> str:
        """Yosys's command for a device, with or without the cells of pins, and look-up tables of more than four inputs."""
        words = (
            self.synthesis,
            "" if pads else self.no_pads,
            "" if wide_luts else self.no_wide_luts,
            self.variants.get(device or "", ""),
        )
        return " ".join(filter(None, words))

    @property
    def default_device(self) -> str | None:
        return next(iter(self.devices), None)


#: The file that names the pins of the harness.
PIN_FILE = "harness.pins"

#: CrossLink-NX and Certus-NX: the package, and pins of it from the first of which nextpnr can route a clock.
_NEXUS = {"lifcl-40": ("BG400", ("E3", "F13", "F14")), "lfd2nx-40": ("BG256", ("E2", "C2", "E3"))}

#: Gowin's devices: part, name in nextpnr, name in Yosys, pins.
_GOWIN = {
    **{
        f"gw2a-18{suffix}": (f"GW2A-LV18PG256{grade}", "GW2A-18C", "gw2a", ("H11", "C13", "N16"))
        for suffix, grade in (("", "C7/I6"), ("-8", "C8/I7"), ("-9", "C9/I8"))
    },
    "gw5ast-138": ("GW5AST-LV138PG484AC1/I0", "GW5AST-138C", "gw5a", ("V22", "W20", "W21")),
}

TARGETS = {
    target.name: target
    for target in (
        Target(
            "ecp5",
            "synth_ecp5 -noiopad",
            "ecp5",
            # The speed grade follows, as in the vendor's part numbers; without one, it is the slowest.
            {
                f"{size}{grade and '-'}{grade}": (
                    f"--{size}",
                    *("--package", "CABGA381"),
                    *("--speed", grade or "6"),
                )
                for grade in ("", "7", "8")
                for size in ("25k", "12k", "45k", "85k")
            },
            {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6},
            re.compile(r"TRELLIS_FF"),
            {"DP16KD": 18432, "PDPW16KD": 18432},
            no_wide_luts="-nowidelut",
        ),
        Target(
            "nexus",
            "synth_nexus",
            "nexus",
            # The grades are named as with ecp5; 7 is the slowest.
            {
                f"{name}{grade and '-'}{grade}": (
                    *("--device", f"{name.upper()}-{grade or '7'}{package}C"),
                    *("--pdc", PIN_FILE),
                )
                for grade in ("", "8", "9")
                for name, (package, _) in _NEXUS.items()
            },
            {"LUT4": 1, "INV": 1, "CCU2": 2, "WIDEFN9": 2, "DPR16X4": 6},
            re.compile(r"FD1P3\w*"),
            {"PDPSC16K": 18432, "PDP16K": 18432, "DP16K": 18432, "PDPSC512K": 524288, "DPSC512K": 524288},
            no_pads="-noiopad",
            pins={f"{name}{grade}": pins for grade in ("", "-8", "-9") for name, (_, pins) in _NEXUS.items()},
            pin_line="ldc_set_location -site {{{pin}}} [get_ports {port}]",
        ),
        Target(
            "gowin",
            "synth_gowin",
            "himbaechel-gowin",
            # The speed grade follows; without one, it is the slowest that nextpnr knows.
            {
                name: ("--device", part, "--vopt", f"family={family}", "--vopt", f"cst={PIN_FILE}")
                for name, (part, family, _, _) in _GOWIN.items()
            },
            {"LUT1": 1, "LUT2": 1, "LUT3": 1, "LUT4": 1, "ALU": 1, "RAM16SDP4": 6},
            re.compile(r"DFF\w*"),
            dict.fromkeys(("SP", "SPX9", "SDPB", "SDPX9B", "DPB", "DPX9B", "pROM", "pROMX9"), 18432),
            no_pads="-noiopads",
            no_wide_luts="-nowidelut",
            variants={name: f"-family {yosys}" for name, (_, _, yosys, _) in _GOWIN.items()},
            pins={name: pins for name, (_, _, _, pins) in _GOWIN.items()},
            pin_line='IO_LOC "{port}" {pin};',
        ),
        Target(
            "ice40",
            "synth_ice40",
            "ice40",
            {
                "hx8k": ("--hx8k", "--package", "ct256"),
                "hx4k": ("--hx4k", "--package", "tq144"),
                "lp8k": ("--lp8k", "--package", "cm225"),
                "up5k": ("--up5k", "--package", "sg48"),
            },
            {"SB_LUT4": 1},
            re.compile(r"SB_DFF\w*"),
            {"SB_RAM40_4K": 4096},
        ),
        Target(
            "xilinx",
            "synth_xilinx -noiopad -flatten",
            None,
            {},
            {
                **{f"LUT{inputs}": 1 for inputs in range(1, 7)},
                "RAM32M": 4,
                "RAM64M": 4,
                "SRL16E": 1,
                "SRLC32E": 1,
            },
            re.compile(r"FD[RSCP]E(_1)?"),
            {"RAMB18E1": 18432, "RAMB36E1": 36864},
        ),
    )
}


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
    """Places and routes the circuit in its harness, once per seed, ``jobs`` at once, each for ``timeout`` seconds; yields
    a run when it has ended. ``synthesis`` is Yosys's command."""
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
