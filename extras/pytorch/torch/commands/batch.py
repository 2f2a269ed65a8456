"""``cdma bench batch``: images per second against memory, with the largest batch that each way lets fit."""

from __future__ import annotations

import argparse

from cdma.command import ROWS, Command, flag, option
from cdma.options import check_between
from cdma.result import Columns, Result, column, rows_result

from . import in_turn
from .saved import NETWORK_NAMES, WAY_NAMES

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


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.torch.extras import torch_version

    check_between("rounds", arguments.rounds, 1, 1000)
    check_between("multiple", arguments.multiple, 1, 1 << 16)
    for gib in arguments.memory:
        check_between("memory", gib, 2**-20, 2**20)
    # Says what is missing, before anything imports it.
    torch_version()
    from cdma.torch.bench.saved_bench import SavedBench, batch_rows

    memory = [int(gib * 2**30) for gib in arguments.memory]
    device = "cpu" if arguments.cpu else "cuda"
    bench = SavedBench(arguments.multiple, arguments.rounds, device, arguments.seed)
    ways = [WAY_NAMES[0], *arguments.ways]
    rows = in_turn(
        "training",
        arguments.networks,
        lambda network: batch_rows(network, ways, bench, memory, arguments.multiple),
        len(memory) * len(ways),
    )
    return rows_result(rows, _COLUMNS, 3, lambda row: (row["network"], row["memory"]))


COMMAND = Command(
    "batch",
    "images per second against memory: the batch grows into what compression saves (needs the extra gpu)",
    "Find for each amount of memory the largest batch that fits a step of training, plainly and with what autograd keeps "
    "compressed, without loss and by COMET's rule, and measure images per second with it. Memory is that of the GPU; with "
    "--cpu it is what autograd keeps. Times are medians over rounds; inputs and weights are random.",
    _run,
    {
        "": (
            option("--networks NAME+", "some of vgg16, resnet50, gpt2, small (default vgg16 resnet50, which need "
                "torchvision)", list(NETWORK_NAMES[:2]), choices=NETWORK_NAMES),
            option("--ways NAME+", "some of saved, dense, comet", ["saved", "comet"], choices=WAY_NAMES[2:]),
            option("--memory GIB+", "GiB that there are", [8.0, 16.0, 32.0]),
            option("--multiple N", "what batches are multiples of", 8),
            option("--rounds N", "steps to time", 5),
            flag("--cpu", "train on the processor, and count what is kept"),
            option("--seed N", "of weights and inputs", 1),
            ROWS,
        ),
    },
    ["--json", "--cpu --networks small --memory 0.004"],
)  # fmt: skip
