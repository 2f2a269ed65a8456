"""``cdma bench swap``: steps of training with what autograd keeps on the other side of a link, by policy."""

from __future__ import annotations

import argparse
from typing import Any

from cdma.base.errors import ParameterError
from cdma.options import check_between
from cdma.rows import Columns, Row, add_row_options, column, show_rows

__all__ = ["POLICY_NAMES", "register"]

#: The policies of the bench, which PyTorch need not be loaded to name.
POLICY_NAMES = ("vdnn_all", "vdnn_conv", "vdnn++", "lms", "cdma", "cswap", "recompute")
_COLUMNS: Columns = {
    "network": column("network"),
    "policy": column("policy"),
    "batch": column("batch"),
    "ms": column("ms", ".1f"),
    "of plain": column("slower", ".2f"),
    "ratio": column("ratio", ".2f"),
    "moved MB": lambda row: "" if row["moved"] is None else f"{row['moved'] / 1e6:.2f}",
    "waits ms": column("wait_ms", ".1f"),
    "on device MB": lambda row: "" if row["peak"] is None else f"{row['peak'] / 1e6:.2f}",
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "swap",
        help="steps of training that move what autograd keeps, by the papers' policies",
        description="Train small networks on handwritten digits with what autograd keeps on the other side of a link, by "
        "policy, beside plain training. Each loss must be that of plain training, bit for bit. Times are medians over "
        "rounds in which every policy has one step; on a processor they are those of a link in software, to see what "
        "happens, and not what a card does.",
    )
    parser.add_argument(
        "--networks", nargs="+", default=["vgg"], metavar="NAME", help="networks to train (default vgg)"
    )
    parser.add_argument(
        "--policies",
        nargs="+",
        choices=POLICY_NAMES,
        default=list(POLICY_NAMES),
        metavar="NAME",
        help=f"some of {', '.join(POLICY_NAMES)} (default all)",
    )
    parser.add_argument("--batch", type=int, default=64, metavar="N", help="images of a step (default 64)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds to time (default 5)")
    parser.add_argument(
        "--link", type=float, default=1.0, metavar="GBPS", help="the link in software, in GB/s (default 1)"
    )
    parser.add_argument(
        "--device-bytes",
        type=int,
        metavar="BYTES",
        help="the most that is held on the device (default: no limit)",
    )
    parser.add_argument("--cuda", action="store_true", help="train on a card, over its own link")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of weights and images (default 1)")
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.sim.study.training.versions import versions

    check_between("batch", arguments.batch, 1, 1500)
    check_between("rounds", arguments.rounds, 1, 1000)
    if not arguments.link > 0:
        raise ParameterError(f"link is {arguments.link:g} GB/s; it must be more than 0")
    # Says what is missing, before anything imports it.
    versions()
    from cdma.sim.study.training.swap_bench import SwapBench, swap_rows
    from cdma.sim.study.training.train import NETWORKS

    for network in arguments.networks:
        if network not in NETWORKS:
            raise ParameterError(f"network is {network!r}; it must be one of {', '.join(NETWORKS)}")
    bench = SwapBench(
        arguments.batch,
        arguments.rounds,
        None if arguments.cuda else arguments.link * 1e9,
        arguments.device_bytes,
        "cuda" if arguments.cuda else "cpu",
        arguments.seed,
    )
    rows: list[Row] = []
    with step_progress("training", len(arguments.networks)) as advance:
        for network in arguments.networks:
            rows += swap_rows(network, arguments.policies, bench)
            advance()
    show_rows(arguments, rows, columns=_COLUMNS, texts=2, group=lambda row: row["network"])
    return 0
