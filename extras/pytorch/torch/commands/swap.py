"""``cdma bench swap``: steps of training with what autograd keeps on the other side of a link, by policy; and the options
that say how a network is trained, which other benches have, too."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Command, flag, option
from cdma.options import check_between
from cdma.result import Columns, Result, Row, column, rows_result
from cdma.torch.commands import in_turn

if TYPE_CHECKING:
    from cdma.torch.bench.swap_training import SwapBench

#: The networks in their own size, which PyTorch need not be loaded to name.
FULL_SIZE_NAMES = ("alexnet224", "vgg16", "vgg19", "resnet50", "squeezenet224", "googlenet", "mobilenet")
#: The network of tokens.
TOKEN_NAMES = ("gpt2",)
PRECISION_NAMES = ("fp32", "tf32", "bf16")


#: The options that :func:`bench_of` reads.
TRAINING = (
    option("--networks NAME+", f"networks to train (default vgg); of {', '.join(FULL_SIZE_NAMES)} and gpt2 those from "
        "torchvision need that", ["vgg"]),
    option("--weights DIR", "trained weights, which cdma study characterise --train DIR --weights wrote (default: random "
        "ones)", Path),
    option("--precision", "numbers of 32 bits, on a GPU with TF32 in products, or bfloat16 with channels last", "fp32",
        choices=PRECISION_NAMES),
    option("--rounds N", "rounds to time", 5),
    option("--link GBPS", "the link in software, in GB/s", 1.0),
    flag("--cuda", "train on a GPU, over its own link"),
    option("--seed N", "of weights and images", 1),
)  # fmt: skip


def bench_of(arguments: argparse.Namespace, batches: Sequence[int]) -> SwapBench:
    """What the options say, with the first of those batches.

    Refuses batches and networks that are not there, and says what is not installed.
    """
    from cdma.torch.extras import torch_version, versions

    of_digits = [name for name in arguments.networks if name not in (*FULL_SIZE_NAMES, *TOKEN_NAMES)]
    for batch in batches:
        check_between("batch", batch, 1, 1500 if of_digits else 1 << 16)
    if not arguments.link > 0:
        raise ParameterError(f"link is {arguments.link:g} GB/s; it must be more than 0")
    if arguments.precision == "tf32" and not arguments.cuda:
        raise ParameterError("precision is tf32, which only GPUs have; give --cuda")
    # Without it matrices are multiplied by other kernels from time to time; it is read once.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # Says what is missing, before anything imports it.
    if of_digits:
        versions()
    torch_version()
    from cdma.torch.bench.swap_training import SwapBench
    from cdma.torch.networks import NETWORKS

    for network in of_digits:
        if network not in NETWORKS:
            known = ", ".join([*NETWORKS, *FULL_SIZE_NAMES, *TOKEN_NAMES])
            raise ParameterError(f"network is {network!r}; it must be one of {known}")
    return SwapBench(
        batches[0] if batches else 8,
        arguments.rounds,
        None if arguments.cuda else arguments.link * 1e9,
        device="cuda" if arguments.cuda else "cpu",
        seed=arguments.seed,
        precision=arguments.precision,
        weights=arguments.weights,
    )


#: The policies of the bench, which PyTorch need not be loaded to name.
POLICY_NAMES = ("vdnn_all", "vdnn_conv", "vdnn++", "lms", "cdma", "cswap", "recompute")
_COLUMNS: Columns = {
    "network": column("network"),
    "policy": column("policy"),
    "batch": column("batch"),
    "ms": column("ms", ".1f"),
    "of plain": column("slower", ".2f"),
    "speedup": column("speedup", ".2f"),
    "images/s": column("images_per_second", ",.1f"),
    "ratio": column("ratio", ".2f"),
    "moved MB": lambda row: "" if row["moved"] is None else f"{row['moved'] / 1e6:.2f}",
    "waits ms": column("wait_ms", ".1f"),
    "on device MB": lambda row: "" if row["peak"] is None else f"{row['peak'] / 1e6:.2f}",
}


def _run(arguments: argparse.Namespace) -> Result:
    check_between("rounds", arguments.rounds, 1, 1000)
    if "max" not in arguments.batch and arguments.memory is not None:
        raise ParameterError("memory is given without --batch max, which it bounds")
    if "max" in arguments.batch and arguments.memory is None and not arguments.cuda:
        raise ParameterError("batch is max, and no GPU is full on a processor: give --memory")
    if arguments.memory is not None:
        check_between("memory", arguments.memory, 2**-20, 2**20)
    given = bench_of(arguments, [batch for batch in arguments.batch if batch != "max"])
    from cdma.torch.bench.swap_bench import full_batch, swap_rows

    given = replace(given, device_bytes=arguments.device_bytes, ahead=arguments.ahead)
    memory = None if arguments.memory is None else int(arguments.memory * 2**30)

    def rows_of(case: tuple[str, int | str]) -> Iterator[Row]:
        network, asked = case
        batch = full_batch(network, given, memory) if asked == "max" else int(asked)
        return swap_rows(network, arguments.policies, replace(given, batch=batch))

    rows = in_turn("training", [*product(arguments.networks, arguments.batch)], rows_of)
    return rows_result(rows, _COLUMNS, 2, lambda row: (row["network"], row["batch"]))


def _batch(text: str) -> int | str:
    return text if text == "max" else int(text)


COMMAND = Command(
    "swap",
    "steps of training that move what autograd keeps, by the papers' policies",
    "Train small networks on handwritten digits, or well-known ones in their own size on random images, with what autograd "
    "keeps on the other side of a link, by policy, beside plain training. Each loss must be that of plain training, bit for "
    "bit. Times are medians over rounds; speedups are those over vdnn_all, which moves it all raw. On a processor times are "
    "those of a link in software, to see what happens, and not what a GPU does.",
    _run,
    {
        "": (
            *TRAINING,
            option("--batch N+", "images of a step, one number or several; max is the most with which plain training "
                "fits (default 64)", _batch, default=[64]),
            option("--memory GIB", "with --batch max: what there is of the GPU's memory, or on a processor for what "
                "autograd keeps", float),
            option("--policies NAME+", f"some of {', '.join(POLICY_NAMES)} (default all)",
                    list(POLICY_NAMES), choices=POLICY_NAMES),
            option("--device-bytes BYTES", "the most that is held on the device (default: no limit)", int),
            option("--ahead BYTES", "how much is on its way back before it is needed (default 64 MiB)", 64 << 20),
            ROWS,
        ),
    },
    ["", "--link 0.1 --policies vdnn_all cdma cswap --json"],
)  # fmt: skip
