"""``cdma bench batch``: images per second against memory, with the largest batch that each way lets fit."""

from __future__ import annotations

import argparse
from typing import Any

from cdma.options import check_between
from cdma.rows import Columns, Row, add_row_options, column, show_rows

from .saved import NETWORK_NAMES, WAY_NAMES

__all__ = ["register"]

#: save_on_cpu spends the host's memory.
_WAYS = tuple(way for way in WAY_NAMES if way != "save_on_cpu")

_COLUMNS: Columns = {
    "card": column("card"),
    "network": column("network"),
    "way": column("way"),
    "memory MiB": lambda row: f"{row['memory'] / 2**20:,.0f}",
    "batch": column("batch"),
    "peak MiB": lambda row: f"{row['peak'] / 2**20:,.0f}",
    "ms": column("ms", ".1f"),
    "images/s": column("images_per_second", ",.1f"),
    "of plain": column("faster", ".2f"),
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "batch",
        help="images per second against memory: the batch grows into what compression saves (needs the extra gpu)",
        description="Find for each amount of memory the largest batch that fits a step of training, plainly and with what "
        "autograd keeps compressed, without loss and by COMET's rule, and measure images per second with it. Memory is that "
        "of the card; with --cpu it is what autograd keeps. Times are medians over rounds; inputs and weights are random.",
    )
    parser.add_argument(
        "--networks",
        nargs="+",
        choices=NETWORK_NAMES,
        default=["vgg16", "resnet50"],
        metavar="NAME",
        help=f"some of {', '.join(NETWORK_NAMES)} (default vgg16 resnet50, which need torchvision)",
    )
    parser.add_argument(
        "--ways",
        nargs="+",
        choices=_WAYS[1:],
        default=["saved", "comet"],
        metavar="NAME",
        help=f"some of {', '.join(_WAYS[1:])} (default saved comet)",
    )
    parser.add_argument(
        "--memory",
        nargs="+",
        type=float,
        default=[8, 16, 32],
        metavar="GIB",
        help="GiB that there are (default 8 16 32)",
    )
    parser.add_argument(
        "--multiple", type=int, default=8, metavar="N", help="what batches are multiples of (default 8)"
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="steps to time (default 5)")
    parser.add_argument("--cpu", action="store_true", help="train on the processor, and count what is kept")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of weights and inputs (default 1)")
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.torch.networks.versions import torch_version

    check_between("rounds", arguments.rounds, 1, 1000)
    check_between("multiple", arguments.multiple, 1, 1 << 16)
    for gib in arguments.memory:
        check_between("memory", gib, 2**-20, 2**20)
    # Says what is missing, before anything imports it.
    torch_version()
    from cdma.torch.bench.batch_bench import BatchBench, batch_rows

    memory = [int(gib * 2**30) for gib in arguments.memory]
    device = "cpu" if arguments.cpu else "cuda"
    bench = BatchBench(memory, arguments.multiple, arguments.rounds, device, arguments.seed)
    ways = [WAY_NAMES[0], *arguments.ways]
    rows: list[Row] = []
    with step_progress("training", len(arguments.networks) * len(memory) * len(ways)) as advance:
        for network in arguments.networks:
            for row in batch_rows(network, ways, bench):
                rows.append(row)
                advance()
    show_rows(arguments, rows, columns=_COLUMNS, texts=3, group=lambda row: (row["network"], row["memory"]))
    return 0
