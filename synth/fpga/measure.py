"""A circuit in an FPGA: look-up tables, flip-flops, RAM, and the clock after placing and routing.

Resources are counted without the harness that the circuit is placed and routed in.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from cdma.base.cache import Cache, content_key
from cdma.base.yosys import Progress, Yosys, find_yosys
from cdma.synth.asic.paths import Circuit, MeasureError

from .harness import use_output_registers
from .routing import TARGETS, Routed, Target, find_nextpnr, place_and_route

#: Part of every key: raise it when this package measures the same inputs differently.
_REVISION = 2


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
        """The median over the seeds, of which those that were not routed are the slowest; None if it is one of them."""
        clocks = sorted(run.fmax_mhz or 0.0 for run in self.routed)
        return statistics.median(clocks) if clocks and clocks[(len(clocks) - 1) // 2] else None

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
    timing_weight: int = 100,
    wide_luts: bool = True,
    jobs: int = 1,
    timeout: float | None = None,
    cache: Cache | None = None,
    yosys: Yosys | None = None,
    progress: Progress | None = None,
) -> FpgaMeasurement:
    """Synthesises ``circuit`` and, where nextpnr knows the family, places and routes it once per seed, ``jobs`` at once.

    ``frequency_mhz`` is the aim of nextpnr; to miss it is no error. ``timing_weight`` is how much more than another a wire
    counts that is on the longest path, when it places; with nextpnr's own 10, the longest wires of an engine cross the
    device. Without ``wide_luts``, every look-up table has at most four inputs. A seed that takes more
    than ``timeout`` seconds counts as not routed.
    """
    device = device or target.default_device
    if device is not None and device not in target.devices:
        known = ", ".join(target.devices) or "none, it is only synthesised"
        raise MeasureError(f"device is {device!r}; {target.name} has {known}")
    if not wide_luts and not target.no_wide_luts:
        known = " and ".join(sorted(each.name for each in TARGETS.values() if each.no_wide_luts))
        raise MeasureError(f"wide look-up tables can be left out on {known}; the target is {target.name}")
    cache = cache or Cache()
    yosys = yosys or find_yosys()
    say = progress or (lambda step: None)
    tools = {"yosys": str(yosys)}

    command = target.command(device, pads=False, wide_luts=wide_luts)
    key = content_key(str(_REVISION), "fpga", str(yosys), command, circuit.top, circuit.verilog)
    cells = cache.kept(key, lambda: _synthesise(circuit, command, yosys, say))

    routed = []
    if target.nextpnr is not None and device is not None:
        router = find_nextpnr(target.nextpnr)
        tools["nextpnr"] = f"{router[0]} {version(router[0])}"
        options = (
            *target.devices[device],
            *("--freq", f"{frequency_mhz:g}", "--timing-allow-fail"),
            *("--placer-heap-timingweight", str(timing_weight)),
        )
        missing = [seed for seed in seeds if cache.load(_route_key(key, tools, options, seed)) is None]
        if missing:
            harnessed = target.command(device, pads=True, wide_luts=wide_luts)
            for run in place_and_route(
                circuit, target, device, harnessed, router[1], options, missing, jobs, timeout, yosys, say
            ):
                routed.append(run)
                # With more time, or on a faster machine, it might be.
                if run.fmax_mhz is not None:
                    value = {"fmax_mhz": run.fmax_mhz, "start": run.start, "end": run.end}
                    cache.store(_route_key(key, tools, options, run.seed), value)
        found = {run.seed: run for run in routed}
        routed = [
            found.get(seed) or Routed(seed, **(cache.load(_route_key(key, tools, options, seed)) or {}))
            for seed in seeds
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


def _synthesise(circuit: Circuit, command: str, yosys: Yosys, say: Progress) -> dict[str, int]:
    script = f"{command} -top {circuit.top}\nflatten"
    module = yosys.modules(script, circuit.verilog, lambda step: say(f"synthesis: {step}"))[circuit.top]
    use_output_registers(module)
    return dict(Counter(cell["type"] for cell in module["cells"].values()))
