"""``cdma area``: what a block costs, in area and clock period."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.options import ENGINE, add_block_options, add_jobs_option, add_spread_options, add_tool_options

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "area",
        help="measure area and clock period",
        description="Synthesise a block with Yosys and say what it costs: on your own cell library, or, "
        "without one, in gate equivalents of a table of the project's own.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for block in (*BLOCKS, *STAGES, ENGINE):
        summary = "the whole engine" if block == ENGINE else f"the {block} by itself"
        inner = blocks.add_parser(block, help=summary, description=f"Measure the {block}.")
        add_block_options(inner, block)
        _add_synthesis(inner, depth=4 if block == ENGINE else 3)
        if block in BLOCKS:
            _add_questions(inner)
        else:
            inner.set_defaults(sweep=None, compare=None, scheduler=None, output=None)
        inner.set_defaults(run=_run)


def _add_synthesis(parser: argparse.ArgumentParser, depth: int) -> None:
    group = parser.add_argument_group("synthesis")
    group.add_argument(
        "--liberty",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="cell library: Liberty files of one corner, .gz or not (default: a normalised table of gates)",
    )
    group.add_argument(
        "--period",
        type=float,
        metavar="NS",
        help="clock period to size gates for (default: 26 delays of a NAND2 of the library with two loads, which is 1.0 on "
        "Nangate45, 4.0 on sky130 and 3.6 on SG13G2; 1.0 without delays or OpenSTA)",
    )
    group.add_argument(
        "--clock-gating", action="store_true", help="also with gated clocks instead of enable multiplexers"
    )
    group.add_argument(
        "--flip-flop-memories",
        action="store_true",
        help="build memories of flip-flops (default: leave them out and count their bits)",
    )
    add_tool_options(group)
    group = parser.add_argument_group("report")
    group.add_argument(
        "--no-breakdown", action="store_true", help="leave out the breakdown by block, which takes longest"
    )
    group.add_argument(
        "--depth",
        type=int,
        default=depth,
        metavar="N",
        help=f"levels of blocks in the breakdown (default {depth})",
    )
    group.add_argument("--path", action="store_true", help="show the longest path from register to register")
    group.add_argument("--json", action="store_true", help="print the figures as JSON")


def _add_questions(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "sweeps",
        "many configurations: what was measured is kept, so an interrupted sweep goes on where it stopped",
    )
    group.add_argument(
        "--sweep",
        action="append",
        metavar="NAME=V,V...",
        help="measure at each of these values; may be given again for every combination. NAME is a "
        "parameter of the codec (lanes, word_bits, window, code_bits, runtime_values, pipelined) or the period",
    )
    add_jobs_option(group, "points")
    add_spread_options(group, "--scheduler")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="write the table, the rows as JSON, and the plots there",
    )
    group = parser.add_argument_group("comparison")
    group.add_argument(
        "--compare",
        type=float,
        metavar="NM",
        help="compare compressor and decompressor with the paper and with open peers; NM is the feature size "
        "of the library, 45 for Nangate45",
    )


def _run(arguments: argparse.Namespace) -> int:
    from cdma.base.errors import ParameterError

    from . import compare, report, sweep

    if arguments.sweep and arguments.compare is not None:
        raise ParameterError("--sweep and --compare are two questions; ask one at a time")
    if not arguments.sweep:
        for option in ("scheduler", "output"):
            if getattr(arguments, option) is not None:
                raise ParameterError(f"--{option} says how to sweep; give it with --sweep")
    if arguments.sweep:
        return sweep.run(arguments)
    if arguments.compare is not None:
        return compare.run(arguments)
    return report.run(arguments)
