"""``cdma bench swap``: steps of training with what autograd keeps on the other side of a link, by policy."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from cdma.options import check_between
from cdma.rows import Columns, Row, add_row_options, column, show_rows

from .swapping import add_training_options, bench_of

__all__ = ["POLICY_NAMES", "register"]

#: The policies of the bench, which PyTorch need not be loaded to name.
POLICY_NAMES = ("vdnn_all", "vdnn_conv", "vdnn++", "lms", "cdma", "cswap", "recompute")
_COLUMNS: Columns = {
    "network": column("network"),
    "policy": column("policy"),
    "batch": column("batch"),
    "ms": column("ms", ".1f"),
    "of plain": column("slower", ".2f"),
    "speedup": column("speedup", ".2f"),
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
        description="Train small networks on handwritten digits, or well-known ones in their own size on random images, "
        "with what autograd keeps on the other side of a link, by policy, beside plain training. Each loss must be that of "
        "plain training, bit for bit. Times are medians over rounds; speedups are those over vdnn_all, which moves it all "
        "raw. On a processor times are those of a link in software, to see what happens, and not what a card does.",
    )
    add_training_options(parser)
    parser.add_argument(
        "--policies",
        nargs="+",
        choices=POLICY_NAMES,
        default=list(POLICY_NAMES),
        metavar="NAME",
        help=f"some of {', '.join(POLICY_NAMES)} (default all)",
    )
    parser.add_argument(
        "--device-bytes",
        type=int,
        metavar="BYTES",
        help="the most that is held on the device (default: no limit)",
    )
    parser.add_argument(
        "--ahead",
        type=int,
        default=64 << 20,
        metavar="BYTES",
        help="how much is on its way back before it is needed (default 64 MiB)",
    )
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress

    check_between("rounds", arguments.rounds, 1, 1000)
    given = bench_of(arguments)
    from cdma.sim.study.training.swap_bench import swap_rows

    bench = replace(given, device_bytes=arguments.device_bytes, ahead=arguments.ahead)
    rows: list[Row] = []
    with step_progress("training", len(arguments.networks)) as advance:
        for network in arguments.networks:
            rows += swap_rows(network, arguments.policies, bench)
            advance()
    show_rows(arguments, rows, columns=_COLUMNS, texts=2, group=lambda row: row["network"])
    return 0
