"""``cdma area`` for one configuration: figures, blocks, and the longest path."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from cdma.base.document import Part, Table
from cdma.base.yosys import find_yosys
from cdma.options import cache_from, check_between, config_from
from cdma.output import status
from cdma.result import Result
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


def run(arguments: argparse.Namespace) -> Result:
    """Measures the block."""
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
    more = {"floor": floor.as_json() if floor else None, "assumption": assumption or None}
    return Result(measurement.as_json() | more, _parts(measurement, floor, assumption, path=arguments.path))


def _parts(
    measurement: Measurement, floor: Floor | None, assumption: str, *, path: bool
) -> Iterator[Part | str]:
    yield f"{measurement.block} on {measurement.library}, {measurement.options.target_ns:g} ns"
    if assumption:
        yield f"Assumed: {assumption}."
    yield _figures(measurement, floor)
    timing = measurement.plain.timing
    if timing is not None:
        for group, name in _PATHS.items():
            if group in timing.ends:
                yield f"{name}: {' → '.join(timing.ends[group])}"
    if measurement.blocks:
        yield _blocks(measurement)
        kge = f"{measurement.blocks_kge:.2f} kGE"
        yield f"Synthesised again with the blocks' boundaries kept, which adds up to {kge}."
    if path:
        none = "no timing: it takes OpenSTA (apt install opensta) and a library with delays"
        yield none if timing is None else f"\n{timing.report}"


def _figures(measurement: Measurement, floor: Floor | None) -> Table:
    columns = [figures for figures in (measurement.plain, measurement.gated) if figures is not None]
    timings = [figures.timing for figures in columns]

    def figure(name: str) -> list[float | None]:
        return [getattr(figures, name) for figures in columns]

    def timing(name: str) -> list[float | None]:
        return [None if each is None else getattr(each, name) for each in timings]

    floors: dict[str, list[float | None]] = {}
    if floor is not None:
        floors["structural floor, kGE"] = [floor.kge for _ in columns]
        floors["times the floor"] = [figures.kge / floor.kge for figures in columns]
    rows: dict[str, list[float | None]] = {
        "area, µm²": figure("area_um2"),
        "area, kGE": figure("kge"),
        **floors,
        "flip-flops": figure("flip_flops"),
        **({"clock gates": figure("clock_gates")} if measurement.gated is not None else {}),
        "sequential, %": [100 * figures.sequential_share for figures in columns],
        "memory bits, apart": figure("memory_bits"),
        "delay of logic (ABC), ns": figure("delay_ns"),
        "period, register to register (OpenSTA), ns": timing("period_ns"),
        "input to register, ns": timing("input_ns"),
        "register to output, ns": timing("output_ns"),
        "input to output, ns": timing("through_ns"),
    }
    titles = ("", "plain", "clock gating")[: 1 + len(columns)]
    cells = [(name, *map(_cell, row)) for name, row in rows.items() if any(each is not None for each in row)]
    return Table(titles, cells, range(1, len(titles)))


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _blocks(measurement: Measurement) -> Table:
    rows = [
        (
            block.name,
            f"{block.kge:.3f}",
            f"{100 * block.kge / measurement.blocks_kge:.1f}",
            str(block.flip_flops),
            f"{block.sequential_kge:.3f}",
        )
        for block in sorted(measurement.blocks, key=lambda block: -block.kge)
        if block.kge
    ]
    return Table(("block", "kGE", "%", "flip-flops", "sequential kGE"), rows, range(1, 5))
