"""What a circuit takes of an FPGA: look-up tables, flip-flops and RAM, and the clock after placing and
routing.

A codec has far more ports than a package has pins. To be placed and routed it is put into a harness: a shift
register feeds the inputs from one pin, every output goes to a flip-flop of its own, and a second shift
register takes those out to another pin. All paths then run from register to register, with the ports'
included, as between neighbouring blocks of a design. Resources are counted without the harness.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cdma.hdl.verilog.cache import content_key

from .cache import Cache
from .errors import MeasureError, ToolError
from .flow import Circuit, scratch
from .yosys import Progress, Yosys, find_yosys, run_tool

__all__ = ["TARGETS", "FpgaMeasurement", "Routed", "Target", "measure_fpga"]

#: Part of every key: raise it when this module measures the same inputs differently.
_REVISION = 1


@dataclass(frozen=True)
class Target:
    """A family: Yosys's command, the devices nextpnr knows with their options, and what the cells count as.

    ``luts`` is how many look-up tables a cell takes, ``ram_bits`` how many bits of block RAM it is.
    """

    name: str
    synthesis: str
    nextpnr: str | None
    devices: dict[str, tuple[str, ...]]
    luts: dict[str, int]
    flip_flops: re.Pattern[str]
    ram_bits: dict[str, int]

    @property
    def default_device(self) -> str | None:
        return next(iter(self.devices), None)


TARGETS = {
    target.name: target
    for target in (
        Target(
            "ecp5",
            "synth_ecp5 -noiopad",
            "ecp5",
            # With the speed grade behind, as in the vendor's part numbers; without one, it is the slowest.
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
    """One run of placing and routing: the clock it reached, and the ends of its longest path."""

    seed: int
    fmax_mhz: float
    start: str
    end: str


@dataclass(frozen=True)
class FpgaMeasurement:
    """A circuit on an FPGA; ``routed`` is empty for a family that is only synthesised."""

    block: str
    config: dict[str, Any]
    target: str
    device: str | None
    luts: int
    flip_flops: int
    ram_blocks: int
    ram_bits: int
    cells: dict[str, int]
    routed: tuple[Routed, ...]
    tools: dict[str, str]

    @property
    def fmax_mhz(self) -> float | None:
        """The median over the seeds, None where nothing was routed."""
        return statistics.median(run.fmax_mhz for run in self.routed) if self.routed else None

    def as_json(self) -> dict[str, Any]:
        """The measurement as ``cdma fpga --json`` prints it."""
        return {
            "block": self.block,
            "config": self.config,
            "target": self.target,
            "device": self.device,
            "luts": self.luts,
            "flip_flops": self.flip_flops,
            "ram_blocks": self.ram_blocks,
            "ram_bits": self.ram_bits,
            "cells": self.cells,
            "fmax_mhz": self.fmax_mhz,
            "routed": [
                {
                    "seed": run.seed,
                    "fmax_mhz": run.fmax_mhz,
                    "worst_path": {"start": run.start, "end": run.end},
                }
                for run in self.routed
            ],
            "tools": self.tools,
        }


def measure_fpga(
    circuit: Circuit,
    target: Target,
    *,
    device: str | None = None,
    seeds: Sequence[int] = (1,),
    frequency_mhz: float = 150.0,
    cache: Cache | None = None,
    yosys: Yosys | None = None,
    progress: Progress | None = None,
) -> FpgaMeasurement:
    """Synthesises ``circuit`` and, where nextpnr knows the family, places and routes it once per seed.

    ``frequency_mhz`` is what nextpnr works towards; missing it is no error.
    """
    device = device or target.default_device
    if device is not None and device not in target.devices:
        known = ", ".join(target.devices) or "none, it is only synthesised"
        raise MeasureError(f"device is {device!r}; {target.name} has {known}")
    cache = cache or Cache()
    yosys = yosys or find_yosys()
    say = progress or (lambda step: None)
    tools = {"yosys": str(yosys)}

    key = content_key(str(_REVISION), "fpga", str(yosys), target.synthesis, circuit.top, circuit.verilog)
    cells = cache.load(key)
    if cells is None:
        cells = _synthesise(circuit, target, yosys, say)
        cache.store(key, cells)

    routed = []
    if target.nextpnr is not None and device is not None:
        router = _find_nextpnr(target.nextpnr)
        tools["nextpnr"] = f"{router[0]} {version(router[0])}"
        options = (*target.devices[device], "--freq", f"{frequency_mhz:g}", "--timing-allow-fail")
        missing = [seed for seed in seeds if cache.load(_route_key(key, tools, options, seed)) is None]
        if missing:
            for run in _place_and_route(circuit, target, router[1], options, missing, yosys, say):
                value = {"fmax_mhz": run.fmax_mhz, "start": run.start, "end": run.end}
                cache.store(_route_key(key, tools, options, run.seed), value)
                routed.append(run)
        found = {run.seed: run for run in routed}
        routed = [
            found.get(seed) or Routed(seed, **_load(cache, key, tools, options, seed)) for seed in seeds
        ]

    count = Counter(cells)
    return FpgaMeasurement(
        block=circuit.block,
        config=circuit.config,
        target=target.name,
        device=device,
        luts=sum(number * target.luts.get(kind, 0) for kind, number in count.items()),
        flip_flops=sum(number for kind, number in count.items() if target.flip_flops.fullmatch(kind)),
        ram_blocks=sum(number for kind, number in count.items() if kind in target.ram_bits),
        ram_bits=sum(number * target.ram_bits.get(kind, 0) for kind, number in count.items()),
        cells=dict(sorted(count.items())),
        routed=tuple(routed),
        tools=tools,
    )


def _route_key(key: str, tools: dict[str, str], options: Sequence[str], seed: int) -> str:
    return content_key(key, tools["nextpnr"], *options, str(seed))


def _load(cache: Cache, key: str, tools: dict[str, str], options: Sequence[str], seed: int) -> dict[str, Any]:
    value = cache.load(_route_key(key, tools, options, seed))
    assert isinstance(value, dict)
    return value


def _synthesise(circuit: Circuit, target: Target, yosys: Yosys, say: Progress) -> dict[str, int]:
    with scratch() as folder:
        (folder / "circuit.v").write_text(circuit.verilog)
        yosys.run(
            f"read_verilog circuit.v\n{target.synthesis} -top {circuit.top}\n"
            "flatten\nwrite_json netlist.json\n",
            folder,
            lambda step: say(f"synthesis: {step}"),
        )
        module = json.loads((folder / "netlist.json").read_text())["modules"][circuit.top]
    return dict(Counter(cell["type"] for cell in module["cells"].values()))


def _find_nextpnr(family: str) -> tuple[str, tuple[str, ...]]:
    """The distribution that has nextpnr for the family, and how to run it."""
    distribution = f"yowasp-nextpnr-{family}"
    module = distribution.replace("-", "_")
    if find_spec(module) is None:
        raise ToolError(f"{distribution} is not installed; it comes with: pip install 'cdma[synth]'")
    call = f"import sys, {module}; sys.exit({module}.run_nextpnr_{family}(sys.argv[1:]))"
    return distribution, (sys.executable, "-c", call)


_STAGE = re.compile(r"Info: (Packing|Placing|Running [\w ]+|Routing)")
_FMAX = re.compile(r"Max frequency for clock\s+'[^']*': ([\d.]+) MHz")


def _place_and_route(
    circuit: Circuit,
    target: Target,
    nextpnr: tuple[str, ...],
    options: Sequence[str],
    seeds: Sequence[int],
    yosys: Yosys,
    say: Progress,
) -> list[Routed]:
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
    """The registers at the ends of the longest path between edges of the clock."""
    for path in report.get("critical_paths", []):
        if "async" not in path["from"] and "async" not in path["to"] and path["path"]:
            return _register(path["path"][0]["from"]["cell"]), _register(path["path"][-1]["to"]["cell"])
    return "", ""


def _register(cell: str) -> str:
    """The register that a flip-flop holds a bit of, from the name that Yosys gave the flip-flop."""
    return re.sub(r"_(TRELLIS_FF|SB_DFF)\w*$", "", cell.replace("$auto$", ""))


#: Ports that the harness leaves to the pins: the clock.
_CLOCKS = ("aclk", "clk")


def harness(top: str, ports: dict[str, Any]) -> str:
    """Verilog of a module ``harness`` around ``top`` with four pins: a clock, data in, data out, and load."""
    clocks = [name for name in ports if name in _CLOCKS]
    if len(clocks) != 1:
        raise MeasureError(f"{top} has the clocks {clocks}; placing and routing needs one, aclk or clk")
    widths = {
        direction: {
            name: len(port["bits"])
            for name, port in ports.items()
            if port["direction"] == direction and name not in clocks
        }
        for direction in ("input", "output")
    }
    inputs, outputs = (max(1, sum(widths[direction].values())) for direction in ("input", "output"))
    connections = [f".{clocks[0]}(clk)"]
    for direction, register in (("input", "feed"), ("output", "seen")):
        low = 0
        for name, width in widths[direction].items():
            connections.append(f".{name}({register}[{low + width - 1}:{low}])")
            low += width
    return f"""\
module harness (input clk, input data_in, input load, output data_out);
  reg [{inputs - 1}:0] feed;
  wire [{outputs - 1}:0] seen;
  reg [{outputs - 1}:0] caught, leaving;
  assign data_out = leaving[0];
  always @(posedge clk) begin
    feed <= {{feed, data_in}};
    caught <= seen;
    leaving <= load ? caught : leaving >> 1;
  end
  {top} circuit (
    {("," + chr(10) + "    ").join(connections)}
  );
endmodule
"""
