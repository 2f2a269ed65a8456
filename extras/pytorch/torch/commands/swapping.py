"""What the benches of swapping share: the networks, and the options that say how one of them is trained."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.base.errors import ParameterError
from cdma.command import flag, option
from cdma.options import check_between

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
    from cdma.torch.networks.versions import torch_version, versions

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
