"""``cdma bench swap``: steps of training with what autograd keeps on the other side of a link, by policy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Command, flag, option
from cdma.options import check_between
from cdma.result import Columns, Result, Row, column, rows_result

from . import in_turn
from .swapping import TRAINING, bench_of

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

    given = replace(
        given, device_bytes=arguments.device_bytes, ahead=arguments.ahead, timeline=arguments.timeline
    )
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
            flag("--timeline", "with --json: what one more step of each policy did when, for cdma study model pictures"),
            ROWS,
        ),
    },
    ["", "--link 0.1 --policies vdnn_all cdma cswap --json"],
)  # fmt: skip
