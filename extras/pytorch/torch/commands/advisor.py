"""``cdma bench advisor``: whether CSWAP's advice is right, tensor by tensor and by size."""

from __future__ import annotations

import argparse

from cdma.command import ROWS, Command, flag, option
from cdma.options import check_between
from cdma.result import Columns, Result, column, rows_result

from . import in_turn
from .swap import TRAINING, bench_of

_TENSORS: Columns = {
    "network": column("network"),
    "tensor": column("tensor"),
    "bytes": column("bytes"),
    "density": column("density", ".2f"),
    "raw ms": column("raw_ms", ".3f"),
    "compressed ms": column("compressed_ms", ".3f"),
    "hidden ms": lambda row: " + ".join(f"{each:.3f}" for each in row["hidden_ms"]),
    "chosen": column("chosen"),
    "better": column("better"),
    "right": lambda row: {True: "yes", False: "no", None: ""}[row["right"]],
}
_SIZES: Columns = {
    "bytes": column("bytes"),
    "tensors": column("tensors"),
    "even": column("even"),
    "right": lambda row: "" if row["share"] is None else f"{row['right']} ({row['share']:.0%})",
    "lost ms": column("lost_ms", ".3f"),
    "all raw": column("raw_ms", ".3f"),
    "all compressed": column("compressed_ms", ".3f"),
    "as chosen": column("chosen_ms", ".3f"),
    "least": column("least_ms", ".3f"),
}


def _run(arguments: argparse.Namespace) -> Result:
    check_between("rounds", arguments.rounds, 3, 1000)
    check_between("age", arguments.age, 0, 1 << 16)
    training = bench_of(arguments, [arguments.batch])
    from cdma.torch.bench.advisor_bench import AdvisorBench, advisor_rows, by_size

    bench = AdvisorBench(training, arguments.age, not arguments.no_mask)
    rows = in_turn("training", arguments.networks, lambda network: advisor_rows(network, bench))
    tensors = rows_result(rows, _TENSORS, 2, lambda row: row["network"])
    sizes = rows_result(by_size(rows), _SIZES, 1, lambda row: row["bytes"] == "all")
    return Result(rows, [*tensors.parts, *sizes.parts])


COMMAND = Command(
    "advisor",
    "whether CSWAP's advice is right: every tensor swapped both ways",
    "Train networks under CSWAP, then swap each tensor of a pass raw and compressed, and compare the time that each exposes "
    "with what equations 1 to 4 chose. Times, those that computing hides among them, are of passes from which nothing was "
    "learnt, and medians over rounds; where the middle halves of the rounds touch the two are even, and are not counted. "
    "The advice knows rates of the link from other tensors' copies, and times of kernels from other octaves of sizes. The "
    "second table has the advice by sizes, and milliseconds of all tensors.",
    _run,
    {
        "": (
            *TRAINING,
            option("--batch N", "images of a step", 64),
            option("--age N", "steps since zeros were counted for the advice, the paper's epoch", 50),
            flag("--no-mask", "leave masks out of the equations, as the paper has them"),
            ROWS,
        ),
    },
    ["", "--cuda --networks vgg16 resnet50 --json"],
)  # fmt: skip
