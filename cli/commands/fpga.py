"""``cdma fpga``: what a block takes of an FPGA, and its clock after placing and routing."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from cdma.hdl.spec.codec import BLOCKS
from cdma.options import (
    ENGINE,
    add_block_options,
    add_tool_options,
    cache_from,
    check_between,
    check_one_or_more,
    config_from,
)

if TYPE_CHECKING:
    from cdma.synth.fpga.measure import FpgaMeasurement

__all__ = ["register"]

_TARGETS = ("ecp5", "nexus", "gowin", "ice40", "xilinx")


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "fpga",
        help="measure resources and clock on an FPGA",
        description="Synthesise a block for an FPGA and count its look-up tables, flip-flops and RAM; "
        "for all but xilinx, place and route it too and say how fast its clock can be.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for block in (*BLOCKS, ENGINE):
        inner = blocks.add_parser(block, help=f"the {block}", description=f"Measure the {block} on an FPGA.")
        add_block_options(inner, block)
        _add_fpga(inner)
        inner.set_defaults(run=_run)


def _add_fpga(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("FPGA")
    group.add_argument("--target", choices=_TARGETS, default="ecp5", help="family (default ecp5)")
    group.add_argument(
        "--device",
        metavar="NAME",
        help="ecp5: 25k (default), 12k, 45k, 85k, of speed grade 6, or with -7 or -8 appended; nexus: lifcl-40 "
        "(default, CrossLink-NX) or lfd2nx-40 (Certus-NX), of speed grade 7, or with -8 or -9 appended; gowin: gw2a-18 "
        "(default), of speed grade 7, or with -8 or -9 appended, or gw5ast-138; ice40: hx8k (default), hx4k, lp8k, up5k",
    )
    group.add_argument(
        "--seeds",
        type=int,
        default=1,
        metavar="N",
        help="place and route N times; the median counts (default 1)",
    )
    group.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="how many of them at once (default 1); an engine takes a gigabyte each",
    )
    group.add_argument(
        "--timeout",
        type=int,
        metavar="S",
        help="seconds for each of them, after which it counts as not routed, so as the slowest (default: no limit)",
    )
    group.add_argument(
        "--frequency", type=float, default=150.0, metavar="MHZ", help="what to work towards (default 150)"
    )
    group.add_argument(
        "--timing-weight",
        type=int,
        default=100,
        metavar="N",
        help="how much more than another a wire of the longest path counts, when nextpnr places (default 100; nextpnr's own "
        "is 10, which is quicker)",
    )
    group.add_argument(
        "--no-wide-luts",
        action="store_true",
        help="ecp5 and gowin: join no look-up tables of four inputs to wider ones, whose output is farther from a flip-flop",
    )
    add_tool_options(group)
    group.add_argument("--json", action="store_true", help="print the figures as JSON")


def _run(arguments: argparse.Namespace) -> int:
    from cdma.base.errors import ParameterError
    from cdma.base.yosys import find_yosys
    from cdma.output import status
    from cdma.synth.asic.paths import circuit_of
    from cdma.synth.fpga.measure import measure_fpga
    from cdma.synth.fpga.routing import TARGETS

    check_between("--seeds", arguments.seeds, 1, 100)
    check_one_or_more(arguments, "jobs")
    if arguments.timeout is not None and arguments.timeout < 1:
        raise ParameterError(f"--timeout is {arguments.timeout}; it must be 1 second or more")
    check_between("--frequency", arguments.frequency, 1, 2000, " MHz")
    check_between("--timing-weight", arguments.timing_weight, 1, 100_000)
    yosys = find_yosys(arguments.yosys)
    with status() as say:
        say("generating Verilog")
        measurement = measure_fpga(
            circuit_of(arguments.block, config_from(arguments)),
            TARGETS[arguments.target],
            device=arguments.device,
            seeds=range(1, arguments.seeds + 1),
            frequency_mhz=arguments.frequency,
            timing_weight=arguments.timing_weight,
            wide_luts=not arguments.no_wide_luts,
            jobs=arguments.jobs,
            timeout=arguments.timeout,
            cache=cache_from(arguments),
            yosys=yosys,
            progress=say,
        )
    if arguments.json:
        print(json.dumps(measurement.as_json(), indent=2))
    else:
        _show(measurement)
    return 0


def _show(measurement: FpgaMeasurement) -> None:
    from cdma.output import new_table, output

    console = output()
    table = new_table("", f"{measurement.target} {measurement.device or ''}".strip())
    table.add_row("look-up tables", f"{measurement.luts:,}")
    table.add_row("flip-flops", f"{measurement.flip_flops:,}")
    table.add_row("RAM blocks", f"{measurement.ram_blocks:,}")
    if measurement.fmax_mhz is not None:
        table.add_row("clock after routing, MHz", f"{measurement.fmax_mhz:.1f}")
    console.print(table)
    for run in measurement.routed:
        if run.fmax_mhz is None:
            console.print(f"seed {run.seed}: not routed in the time")
        else:
            console.print(f"seed {run.seed}: {run.fmax_mhz:.1f} MHz, {run.start} → {run.end}")
