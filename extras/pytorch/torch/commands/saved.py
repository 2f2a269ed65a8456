"""``cdma bench saved``: steps of training with what autograd keeps compressed on a GPU, beside plain training."""

from __future__ import annotations

import argparse
import os
from typing import Any

from cdma.command import ROWS, Command, flag, option
from cdma.options import check_between
from cdma.result import Columns, Result, column, rows_result

from . import in_turn

#: The networks and the ways of the bench, which PyTorch need not be loaded to name.
NETWORK_NAMES = ("vgg16", "resnet50", "gpt2", "small")
WAY_NAMES = ("plain", "save_on_cpu", "checkpoint", "saved", "dense", "comet")


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


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.torch.extras import torch_version

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
    rows = in_turn(
        "training", arguments.networks, lambda network: saved_rows(network, ways, bench), len(ways)
    )
    return rows_result(rows, _COLUMNS, 3, lambda row: row["network"])


COMMAND = Command(
    "saved",
    "steps of training with what autograd keeps compressed on a GPU (needs the extra gpu)",
    "Train networks on a GPU, plainly, with PyTorch's save_on_cpu and checkpoint, and with what autograd keeps compressed "
    "on the GPU: milliseconds, and memory after the forward pass and at most. Without loss every gradient must be that of "
    "plain training, bit for bit. Times are medians over rounds; inputs and weights are random.",
    _run,
    {
        "": (
            option("--networks NAME+", "some of vgg16, resnet50, gpt2, small (default vgg16 resnet50 gpt2; the first two "
                "need torchvision)", list(NETWORK_NAMES[:3]), choices=NETWORK_NAMES),
            option("--ways NAME+", "some of save_on_cpu, checkpoint, saved, dense, comet (default "
                "all)", list(WAY_NAMES[1:]), choices=WAY_NAMES[1:]),
            option("--batch N", "inputs of a step (default: 64, 128 and 8, as the papers have them)", int),
            option("--rounds N", "steps to time", 10),
            flag("--cpu", "train on the processor, where nothing is on a GPU"),
            option("--seed N", "of weights and inputs", 1),
            ROWS,
        ),
    },
    ["--json", "--networks resnet50 --ways saved comet"],
)  # fmt: skip
