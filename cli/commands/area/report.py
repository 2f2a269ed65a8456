"""``cdma area`` for one configuration: figures, blocks, and the longest path."""

from __future__ import annotations

import argparse
import json

from rich.table import Table

from cdma.base.yosys import find_yosys
from cdma.options import cache_from, check_between, config_from
from cdma.output import new_table, output, status
from cdma.synth.asic.measure import Measurement, measure_block
from cdma.synth.asic.scaling import Floor

from . import request

__all__ = ["run"]


#: What the longest path of each kind is called.
_PATHS = {
    "period": "longest path",
    "input": "from an input",
    "output": "to an output",
    "through": "from an input to an output",
}


def run(arguments: argparse.Namespace) -> int:
    """Measures the block and prints what it costs."""
    check_between("--depth", arguments.depth, 1, 20)
    library = request.library(arguments)
    yosys = find_yosys(arguments.yosys)
    with status() as say:
        options = request.options(arguments, library)
        measurement = measure_block(
            arguments.block,
            config_from(arguments),
            library,
            options,
            block_depth=0 if arguments.no_breakdown else arguments.depth,
            cache=cache_from(arguments),
            yosys=yosys,
            progress=say,
        )
    floor = request.floor(arguments, library)
    assumption = request.assumption(library)
    if arguments.json:
        more = {"floor": floor.as_json() if floor else None, "assumption": assumption or None}
        print(json.dumps(measurement.as_json() | more, indent=2))
        return 0
    console = output()
    console.print(f"{measurement.block} on {measurement.library}, {measurement.options.target_ns:g} ns")
    if assumption:
        console.print(f"Assumed: {assumption}.")
    console.print(_figures(measurement, floor))
    timing = measurement.plain.timing
    if timing is not None:
        for group, name in _PATHS.items():
            if group in timing.ends:
                console.print(f"{name}: {' → '.join(timing.ends[group])}")
    if measurement.blocks:
        console.print(_blocks(measurement))
        console.print(
            "Synthesised again with the blocks' boundaries kept, "
            f"which adds up to {measurement.blocks_kge:.2f} kGE.",
        )
    if arguments.path:
        print(
            "\n" + timing.report
            if timing is not None
            else "no timing: it takes OpenSTA (apt install opensta) and a library with delays"
        )
    return 0


def _figures(measurement: Measurement, floor: Floor | None) -> Table:
    columns = [figures for figures in (measurement.plain, measurement.gated) if figures is not None]
    table = new_table("", *["plain", "clock gating"][: len(columns)])

    def row(name: str, *values: float | None) -> None:
        if any(value is not None for value in values):
            table.add_row(name, *map(_cell, values))

    def timing(name: str) -> list[float | None]:
        return [getattr(figures.timing, name) if figures.timing is not None else None for figures in columns]

    def figure(name: str) -> list[float | None]:
        return [getattr(figures, name) for figures in columns]

    row("area, µm²", *figure("area_um2"))
    row("area, kGE", *figure("kge"))
    if floor is not None:
        row("structural floor, kGE", *[floor.kge for _ in columns])
        row("times the floor", *[figures.kge / floor.kge for figures in columns])
    row("flip-flops", *figure("flip_flops"))
    if measurement.gated is not None:
        row("clock gates", *figure("clock_gates"))
    row("sequential, %", *[100 * figures.sequential_share for figures in columns])
    row("memory bits, apart", *figure("memory_bits"))
    row("delay of logic (ABC), ns", *figure("delay_ns"))
    row("period, register to register (OpenSTA), ns", *timing("period_ns"))
    row("input to register, ns", *timing("input_ns"))
    row("register to output, ns", *timing("output_ns"))
    row("input to output, ns", *timing("through_ns"))
    return table


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _blocks(measurement: Measurement) -> Table:
    table = new_table("block", "kGE", "%", "flip-flops", "sequential kGE")
    for block in sorted(measurement.blocks, key=lambda block: -block.kge):
        if block.kge:
            share = 100 * block.kge / measurement.blocks_kge
            table.add_row(
                block.name,
                f"{block.kge:.3f}",
                f"{share:.1f}",
                str(block.flip_flops),
                f"{block.sequential_kge:.3f}",
            )
    return table
