"""``cdma bench kernels``: what a tensor takes to leave a device and come back, by codec and density."""

from __future__ import annotations

import argparse
from functools import cache, partial

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Command, flag, option
from cdma.options import check_between
from cdma.result import Columns, Result, Row, column, rows_result

_COLUMNS: Columns = {
    "card": column("card"),
    "density": column("density", "g"),
    "codec": column("codec"),
    "ratio": column("ratio", ".2f"),
    "compress ms": column("compress_ms", ".3f"),
    "decompress ms": column("decompress_ms", ".3f"),
    "out ms": column("out_ms", ".3f"),
    "back ms": column("back_ms", ".3f"),
    "swap ms": column("swap_ms", ".3f"),
    "speedup": column("speedup", ".2f"),
}


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.torch.bench.kernel_bench import KernelBench, kernel_rows

    for density in arguments.densities:
        check_between("densities", density, 0, 1)
    check_between("size", arguments.size, 1 / 64, 1 << 14)
    check_between("rounds", arguments.rounds, 1, 1000)
    if not arguments.link > 0:
        raise ParameterError(f"link is {arguments.link:g} GB/s; it must be more than 0")
    measured = kernel_rows
    if arguments.cuda:
        from cdma.gpu.door import kernels_in

        # Says what is missing, before anything imports it.
        kernels_in("measure").require_cuda()
        from cdma.output import warn
        from cdma.torch.bench.card_bench import card_rows

        measured = partial(card_rows, left_out=cache(warn))
    bench = KernelBench(
        int(arguments.size * 2**18) * 4, arguments.rounds, arguments.link * 1e9, arguments.seed
    )
    rows: list[Row] = [row for density in arguments.densities for row in measured(density, bench)]
    return rows_result(rows, _COLUMNS, 3, lambda row: row["density"])


COMMAND = Command(
    "kernels",
    "what a tensor takes to leave a device and come back, by codec and density",
    "Compress a tensor of 32-bit numbers, move its stream to the host and back, and decompress it: by zero-value "
    "compression, run lengths, compressed sparse rows and LZ4, beside the raw tensor, as CSWAP compares kernels. On the "
    "processor codecs are those of the comparison and copies take what the link's rate says; with --cuda the first is the "
    "kernel, the next two are PyTorch's operations, LZ4 is nvCOMP's, where its package is installed, and copies are those "
    "of the GPU's link. Times are medians.",
    _run,
    {
        "": (
            option("--densities D+", "shares of numbers that are not zero", [0.1, 0.3, 0.5, 0.7, 0.9]),
            option("--size MIB", "raw data", 4.0),
            option("--rounds N", "rounds to time", 5),
            option("--link GBPS", "the link of the processor, in GB/s", 16.0),
            flag("--cuda", "measure kernels on a GPU, and its own link"),
            option("--seed N", "of the data", 1),
            ROWS,
        ),
    },
    ["", "--cuda --size 256 --json"],
)  # fmt: skip
