"""``cdma fpga``: what a block takes of an FPGA, and its clock after placing and routing."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cdma.base.document import Part, Table
from cdma.command import Command, flag, option
from cdma.options import (
    ENGINE,
    TOOLS,
    block_command,
    cache_from,
    check_between,
    check_one_or_more,
    config_from,
)
from cdma.result import Result

if TYPE_CHECKING:
    from cdma.synth.fpga.measure import FpgaMeasurement


def _run(arguments: argparse.Namespace) -> Result:
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
    return Result(measurement.as_json(), _parts(measurement))


def _parts(measurement: FpgaMeasurement) -> Iterator[Part | str]:
    rows = [
        ("look-up tables", f"{measurement.luts:,}"),
        ("flip-flops", f"{measurement.flip_flops:,}"),
        ("RAM blocks", f"{measurement.ram_blocks:,}"),
    ]
    if measurement.fmax_mhz is not None:
        rows.append(("clock after routing, MHz", f"{measurement.fmax_mhz:.1f}"))
    yield Table(("", f"{measurement.target} {measurement.device or ''}".strip()), rows, (1,))
    for run in measurement.routed:
        reached = f"{run.fmax_mhz:.1f} MHz, {run.start} → {run.end}" if run.fmax_mhz is not None else ""
        yield f"seed {run.seed}: {reached or 'not routed in the time'}"


_OPTIONS = {
    "FPGA": (
        option("--target", "family", "ecp5", choices=("ecp5", "nexus", "gowin", "ice40", "xilinx")),
        option("--device NAME", "ecp5: 25k (default), 12k, 45k, 85k, of speed grade 6, or with -7 or -8 appended; nexus: "
            "lifcl-40 (default, CrossLink-NX) or lfd2nx-40 (Certus-NX), of speed grade 7, or with -8 or -9 appended; gowin: "
            "gw2a-18 (default), of speed grade 7, or with -8 or -9 appended, or gw5ast-138; ice40: hx8k (default), hx4k, "
            "lp8k, up5k"),
        option("--seeds N", "place and route N times; the median counts", 1),
        option("--jobs N", "how many of them at once (default 1); an engine takes a gigabyte each", 1),
        option("--timeout S", "seconds for each of them, after which it counts as not routed, so as the slowest (default: "
            "no limit)", int),
        option("--frequency MHZ", "what to work towards", 150.0),
        option("--timing-weight N", "how much more than another a wire of the longest path counts, when nextpnr places "
            "(default 100; nextpnr's own is 10, which is quicker)", 100),
        flag("--no-wide-luts", "ecp5 and gowin: join no look-up tables of four inputs to wider ones, whose output is "
            "farther from a flip-flop"),
        *TOOLS,
        flag("--json", "print the figures as JSON"),
    )
}  # fmt: skip
_EXAMPLES = {"compressor": "ecp5", "decompressor": "nexus", ENGINE: "ecp5"}

COMMAND = Command(
    "fpga",
    "measure resources and clock on an FPGA",
    "Synthesise a block for an FPGA and count its look-up tables, flip-flops and RAM; for all but xilinx, place and route "
    "it too and say how fast its clock can be.",
    commands=[
        block_command(block, f"the {block}", f"Measure the {block} on an FPGA.", _run, _OPTIONS,
            [f"--pipelined --target {target}"])
        for block, target in _EXAMPLES.items()
    ],
)  # fmt: skip
