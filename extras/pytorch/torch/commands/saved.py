"""``cdma bench saved``: steps of training with what autograd keeps compressed on a card, beside plain training."""

from __future__ import annotations

import argparse
import os
from typing import Any

from cdma.options import check_between
from cdma.rows import Columns, Row, add_row_options, column, show_rows

__all__ = ["NETWORK_NAMES", "WAY_NAMES", "register"]

#: The networks and the ways of the bench, which PyTorch need not be loaded to name.
NETWORK_NAMES = ("vgg16", "resnet50", "gpt2", "small")
WAY_NAMES = ("plain", "save_on_cpu", "saved", "dense", "comet")


def _megabytes(key: str, share: str) -> Any:
    return lambda row: f"{row[key] / 1e6:,.0f} ({row[share]:.2f})" if row[key] else ""


_COLUMNS: Columns = {
    "card": column("card"),
    "network": column("network"),
    "way": column("way"),
    "batch": column("batch"),
    "ms": column("ms", ".1f"),
    "of plain": column("slower", ".2f"),
    "after forward MB": _megabytes("after", "after_share"),
    "peak MB": _megabytes("peak", "peak_share"),
    "ratio": column("ratio", ".2f"),
    "of convolutions": column("ratio_conv", ".2f"),
    "same gradients": lambda row: {True: "yes", None: ""}[row["same"]],
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "saved",
        help="steps of training with what autograd keeps compressed on a card (needs the extra gpu)",
        description="Train networks on a card, plainly, with PyTorch's save_on_cpu, and with what autograd keeps compressed "
        "on the card: milliseconds, and memory after the forward pass and at most. Without loss every gradient must be that "
        "of plain training, bit for bit. Times are medians over rounds; inputs and weights are random.",
    )
    parser.add_argument(
        "--networks",
        nargs="+",
        choices=NETWORK_NAMES,
        default=list(NETWORK_NAMES[:3]),
        metavar="NAME",
        help=f"some of {', '.join(NETWORK_NAMES)} (default vgg16 resnet50 gpt2; the first two need torchvision)",
    )
    parser.add_argument(
        "--ways",
        nargs="+",
        choices=WAY_NAMES[1:],
        default=list(WAY_NAMES[1:]),
        metavar="NAME",
        help=f"some of {', '.join(WAY_NAMES[1:])} (default all)",
    )
    parser.add_argument(
        "--batch",
        type=int,
        metavar="N",
        help="inputs of a step (default: 64, 128 and 8, as the papers have them)",
    )
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="steps to time (default 10)")
    parser.add_argument(
        "--cpu", action="store_true", help="train on the processor, where nothing is on a card"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of weights and inputs (default 1)")
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.torch.networks.versions import torch_version

    check_between("rounds", arguments.rounds, 1, 1000)
    if arguments.batch is not None:
        check_between("batch", arguments.batch, 1, 1 << 16)
    # Without it matrices are multiplied by other kernels from time to time; it is read once.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # Says what is missing, before anything imports it.
    torch_version()
    from cdma.torch.bench.saved_bench import SavedBench, saved_rows

    bench = SavedBench(arguments.batch, arguments.rounds, "cpu" if arguments.cpu else "cuda", arguments.seed)
    ways = [WAY_NAMES[0], *arguments.ways]
    rows: list[Row] = []
    with step_progress("training", len(arguments.networks) * len(ways)) as advance:
        for network in arguments.networks:
            for row in saved_rows(network, ways, bench):
                rows.append(row)
                advance()
    show_rows(arguments, rows, columns=_COLUMNS, texts=3, group=lambda row: row["network"])
    return 0
