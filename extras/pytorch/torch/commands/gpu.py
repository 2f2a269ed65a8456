"""``cdma bench gpu``: the codec on a GPU, beside a copy there and nvCOMP."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import cache
from itertools import product

from cdma.command import ROWS, Command, option
from cdma.hdl.spec.format import PRESETS, Format
from cdma.options import check_between, check_densities
from cdma.result import Columns, Result, Row, column, rows_result

from . import in_turn

_COLUMNS: Columns = {
    "card": column("card"),
    "data": column("data"),
    "codec": column("codec"),
    "ratio": column("ratio", ".2f"),
    "compress GB/s": lambda row: f"{row['compress'] / 1e9:.0f}",
    "decompress GB/s": lambda row: f"{row['decompress'] / 1e9:.0f}",
    "share": lambda row: f"{row['share']['compress']:.2f}, {row['share']['decompress']:.2f}",
}
_HOSTILE_COLUMNS: Columns = {
    "card": column("card"),
    "verdicts": lambda row: ", ".join(f"{count} {name}" for name, count in row["verdicts"].items()),
    "streams": column("streams"),
    "same": column("same"),
    "differing": lambda row: str(len(row["differing"])),
}


def _run(arguments: argparse.Namespace) -> Result:
    if arguments.hostile is not None:
        return _hostile(arguments)

    from cdma.gpu.door import kernels_in
    from cdma.output import warn

    check_densities(arguments.densities)
    check_between("rounds", arguments.rounds, 1, 1000)
    check_between("tensors", arguments.tensors, 1, 1 << 16)
    for size in arguments.sizes:
        check_between("sizes", size, 1 / 64, 1 << 16)
    bench = kernels_in("measure")
    bench.require_cuda()
    many = f"{arguments.tensors} of " if arguments.tensors > 1 else ""
    given, left_out = (arguments.tensors, arguments.rounds, arguments.seed), cache(warn)

    def rows_of(case: tuple[str, float, float]) -> Iterator[Row]:
        name, size, density = case
        title, format = f"{name}, {many}{size:g} MiB", Format.preset(name)
        yield from bench.measure(title, format, density, int(size * 2**20), *given, left_out)

    cases = [*product(arguments.formats, arguments.sizes, arguments.densities)]
    rows = in_turn("measuring", cases, rows_of)
    return rows_result(rows, _COLUMNS, 3, lambda row: row["data"])


def _hostile(arguments: argparse.Namespace) -> Result:
    from cdma.gpu.door import kernels_in
    from cdma.output import step_progress

    check_between("hostile", arguments.hostile, 1, 1 << 20)
    check_between("seed", arguments.seed, 0, (1 << 64) - 1)
    # Says what is missing, before anything imports it.
    kernels_in("decoder")
    from cdma.torch.bench.hostile import hostile

    with step_progress("comparing", arguments.hostile) as advance:
        row = hostile(arguments.hostile, arguments.seed, advance)
    return rows_result([row], _HOSTILE_COLUMNS, 2, lambda row: row["card"], holds=not row["differing"])


COMMAND = Command(
    "gpu",
    "the codec on a GPU beside a copy there and nvCOMP (needs the extra gpu)",
    "Time the codec on a GPU, beside a copy there and, where its package is installed, nvCOMP's ANS, Bitcomp, Cascaded, "
    "LZ4 and Zstd: ratio, GB/s of raw data, and the share that the least possible time, of raw data and stream at the rate "
    "of the copy, has of the time taken, compressing and decompressing. Times are medians of events on the GPU.",
    _run,
    {
        "": (
            option("--formats NAME+", "some of zvc32, zvc16, zvc8, bf16, fp32, aie-ml, "
                "aie2p", ["zvc32", "zvc16", "bf16"], choices=[*PRESETS]),
            option("--densities D+", "shares of numbers that are not zero", [1.0, 0.5, 0.3, 0.1]),
            option("--sizes MIB+", "raw data", [1024.0]),
            option("--tensors N", "tensors of each size; of several, in one launch for each and in one for all", 1),
            option("--rounds N", "rounds to time", 9),
            option("--seed N", "of the data", 1),
            option("--hostile N", "time nothing; send so many drawn streams with damage to the GPU, and compare its "
                "verdicts with those of the golden model: for compute-sanitizer, or for a CPU with TRITON_INTERPRET=1", int),
            ROWS,
        ),
    },
    ["", "--formats bf16 --densities 1 --json", "--hostile 1000"],
)  # fmt: skip
