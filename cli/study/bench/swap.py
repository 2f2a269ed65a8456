"""``cdma bench swap``: steps of training with what autograd keeps on the other side of a link, by policy."""

from __future__ import annotations

import argparse
import os
from typing import Any

from cdma.base.errors import ParameterError
from cdma.options import check_between
from cdma.rows import Columns, Row, add_row_options, column, show_rows

__all__ = ["FULL_SIZE_NAMES", "POLICY_NAMES", "PRECISION_NAMES", "register"]

#: The policies of the bench, which PyTorch need not be loaded to name.
POLICY_NAMES = ("vdnn_all", "vdnn_conv", "vdnn++", "lms", "cdma", "cswap", "recompute")
#: The networks in their own size, and the precisions.
FULL_SIZE_NAMES = ("alexnet224", "vgg16", "resnet50", "squeezenet224", "googlenet")
PRECISION_NAMES = ("fp32", "tf32", "bf16")
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
    parser.add_argument(
        "--networks",
        nargs="+",
        default=["vgg"],
        metavar="NAME",
        help=f"networks to train (default vgg); {', '.join(FULL_SIZE_NAMES)} need torchvision",
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
    parser.add_argument(
        "--precision",
        choices=PRECISION_NAMES,
        default=PRECISION_NAMES[0],
        help="numbers of 32 bits, on a card with TF32 in products, or bfloat16 with channels last (default fp32)",
    )
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
    parser.add_argument(
        "--ahead",
        type=int,
        default=64 << 20,
        metavar="BYTES",
        help="how much is on its way back before it is needed (default 64 MiB)",
    )
    parser.add_argument("--cuda", action="store_true", help="train on a card, over its own link")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of weights and images (default 1)")
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.sim.study.training.versions import torch_version, versions

    of_digits = [name for name in arguments.networks if name not in FULL_SIZE_NAMES]
    check_between("batch", arguments.batch, 1, 1500 if of_digits else 1 << 16)
    check_between("rounds", arguments.rounds, 1, 1000)
    if not arguments.link > 0:
        raise ParameterError(f"link is {arguments.link:g} GB/s; it must be more than 0")
    if arguments.precision == "tf32" and not arguments.cuda:
        raise ParameterError("precision is tf32, which only cards have; give --cuda")
    # Without it matrices are multiplied by other kernels from time to time; it is read once.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # Says what is missing, before anything imports it.
    if of_digits:
        versions()
    torch_version()
    from cdma.sim.study.training.swap_bench import SwapBench, swap_rows
    from cdma.sim.study.training.train import NETWORKS

    for network in of_digits:
        if network not in NETWORKS:
            known = ", ".join([*NETWORKS, *FULL_SIZE_NAMES])
            raise ParameterError(f"network is {network!r}; it must be one of {known}")
    bench = SwapBench(
        arguments.batch,
        arguments.rounds,
        None if arguments.cuda else arguments.link * 1e9,
        arguments.device_bytes,
        "cuda" if arguments.cuda else "cpu",
        arguments.seed,
        arguments.precision,
        arguments.ahead,
    )
    rows: list[Row] = []
    with step_progress("training", len(arguments.networks)) as advance:
        for network in arguments.networks:
            rows += swap_rows(network, arguments.policies, bench)
            advance()
    show_rows(arguments, rows, columns=_COLUMNS, texts=2, group=lambda row: row["network"])
    return 0
