"""``cdma bench advisor``: whether CSWAP's advice is right, tensor by tensor and by size."""

from __future__ import annotations

import argparse
from typing import Any

from cdma.options import check_between
from cdma.rows import Columns, Row, add_row_options, column, show_rows

from .swapping import add_training_options, bench_of

__all__ = ["register"]

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


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "advisor",
        help="whether CSWAP's advice is right: every tensor swapped both ways",
        description="Train networks under CSWAP, then swap each tensor of a pass raw and compressed, and compare the time "
        "that each exposes with what equations 1 to 4 chose. Times, those that computing hides among them, are of passes "
        "from which nothing was learnt, and medians over rounds; where the middle halves of the rounds touch the two are "
        "even, and are not counted. The advice knows rates of the link from other tensors' copies, and times of kernels "
        "from other octaves of sizes. The second table has the advice by sizes, and milliseconds of all tensors.",
    )
    add_training_options(parser)
    parser.add_argument("--batch", type=int, default=64, metavar="N", help="images of a step (default 64)")
    parser.add_argument(
        "--age",
        type=int,
        default=50,
        metavar="N",
        help="steps since zeros were counted for the advice, the paper's epoch (default 50)",
    )
    parser.add_argument(
        "--no-mask", action="store_true", help="leave masks out of the equations, as the paper has them"
    )
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress

    check_between("rounds", arguments.rounds, 3, 1000)
    check_between("age", arguments.age, 0, 1 << 16)
    training = bench_of(arguments, [arguments.batch])
    from cdma.torch.bench.advisor_bench import AdvisorBench, advisor_rows, by_size

    bench = AdvisorBench(training, arguments.age, not arguments.no_mask)
    rows: list[Row] = []
    with step_progress("training", len(arguments.networks)) as advance:
        for network in arguments.networks:
            rows += advisor_rows(network, bench)
            advance()
    show_rows(arguments, rows, columns=_TENSORS, texts=2, group=lambda row: row["network"])
    if not arguments.json:
        show_rows(arguments, by_size(rows), columns=_SIZES, texts=1, group=lambda row: row["bytes"] == "all")
    return 0
