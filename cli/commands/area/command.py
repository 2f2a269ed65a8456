"""``cdma area``: what a block costs, in area and clock period."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cdma.command import Command, Option, flag, option
from cdma.hdl.spec.codec import BLOCKS
from cdma.options import DASK, ENGINE, TOOLS, block_command, jobs
from cdma.result import Result


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.base.errors import ParameterError

    from . import report

    if arguments.sweep and arguments.compare is not None:
        raise ParameterError("--sweep and --compare are two questions; ask one at a time")
    if not arguments.sweep and arguments.scheduler is not None:
        raise ParameterError("--dask says how to sweep; give it with --sweep")
    if arguments.sweep:
        return report.sweep(arguments)
    if arguments.compare is not None:
        return report.compare(arguments)
    return report.run(arguments)


def _block(block: str, examples: Sequence[str]) -> Command:
    options: dict[str, Sequence[Option]] = {
        "synthesis": _SYNTHESIS,
        "report": (
            flag("--no-breakdown", "leave out the breakdown by block, which takes longest"),
            option("--depth N", "levels of blocks in the breakdown", 4 if block == ENGINE else 3),
            flag("--path", "show the longest path from register to register"),
            flag("--json", "print the figures as JSON"),
        ),
    }
    fixed: dict[str, Any] = dict.fromkeys(("sweep", "compare", "scheduler"))
    if block in BLOCKS:
        options, fixed = {**options, **_QUESTIONS}, {}
    help = "the whole engine" if block == ENGINE else f"the {block} by itself"
    return block_command(block, help, f"Measure the {block}.", _run, options, examples, **fixed)


_SYNTHESIS = (
    option("--liberty FILE+", "cell library: Liberty files of one corner, .gz or not (default: a normalised table of gates)",
        Path),
    option("--period NS", "clock period to size gates for (default: 26 delays of a NAND2 of the library with two loads, "
        "which is 1.0 on Nangate45, 4.0 on sky130 and 3.6 on SG13G2; 1.0 without delays or OpenSTA)", float),
    flag("--clock-gating", "also with gated clocks instead of enable multiplexers"),
    flag("--flip-flop-memories", "build memories of flip-flops (default: leave them out and count their bits)"),
    *TOOLS,
)  # fmt: skip


_QUESTIONS = {
    "sweeps: many configurations: what was measured is kept, so an interrupted sweep goes on where it stopped": (
        option("--sweep NAME=V,V...", "measure at each of these values; may be given again for every combination. NAME is a "
            "parameter of the codec (lanes, word_bits, window, code_bits, runtime_values, pipelined) or the period",
            action="append"),
        jobs("points"),
        DASK,
    ),
    "comparison": (
        option("--compare NM", "compare compressor and decompressor with the paper and with open peers; NM is the feature "
            "size of the library, 45 for Nangate45", float),
    ),
}  # fmt: skip

COMMAND = Command(
    "area",
    "measure area and clock period",
    "Synthesise a block with Yosys and say what it costs: on your own cell library, or, without one, in gate equivalents of "
    "a table of the project's own.",
    commands=[
        _block("compressor", ["", "--liberty your_pdk.lib --path", "--sweep lanes=2,4,8,16"]),
        _block("decompressor", ["--liberty your_pdk.lib --clock-gating"]),
        _block("quantiser", [""]),
        _block("dequantiser", [""]),
        _block(ENGINE, ["--no-breakdown", "--liberty your_pdk.lib --depth 2"]),
    ],
)
