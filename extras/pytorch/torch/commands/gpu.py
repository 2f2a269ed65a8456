"""``cdma bench gpu``: the codec on a card, beside a copy there and nvCOMP."""

from __future__ import annotations

import argparse
from functools import cache
from typing import Any

from cdma.commands.bench.cases import check_densities
from cdma.hdl.spec.format import PRESETS, Format
from cdma.options import check_between
from cdma.rows import Columns, Row, add_row_options, column, show_rows

__all__ = ["register"]

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


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "gpu",
        help="the codec on a GPU beside a copy there and nvCOMP (needs the extra gpu)",
        description="Time the codec on a card, beside a copy there and, where its package is installed, nvCOMP's ANS, "
        "Bitcomp, Cascaded, LZ4 and Zstd: ratio, "
        "GB/s of raw data, and the share that the least possible time, of raw data and stream at the rate of the copy, has "
        "of the time taken, compressing and decompressing. Times are medians of events on the card.",
    )
    parser.add_argument(
        "--formats",
        nargs="+",
        choices=PRESETS,
        default=["zvc32", "zvc16", "bf16"],
        metavar="NAME",
        help=f"some of {', '.join(PRESETS)} (default zvc32 zvc16 bf16)",
    )
    parser.add_argument(
        "--densities",
        type=float,
        nargs="+",
        default=[1, 0.5, 0.3, 0.1],
        metavar="D",
        help="shares of numbers that are not zero (default 1 0.5 0.3 0.1)",
    )
    parser.add_argument(
        "--sizes", type=float, nargs="+", default=[1024], metavar="MIB", help="raw data (default 1024)"
    )
    parser.add_argument(
        "--tensors",
        type=int,
        default=1,
        metavar="N",
        help="tensors of each size; of several, in one launch for each and in one for all (default 1)",
    )
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="rounds to time (default 9)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the data (default 1)")
    parser.add_argument(
        "--hostile",
        type=int,
        metavar="N",
        help="time nothing; send so many drawn streams with damage to the card, and compare its verdicts with those of the "
        "golden model: for compute-sanitizer, or for a CPU with TRITON_INTERPRET=1",
    )
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.hostile is not None:
        return _hostile(arguments)

    from cdma.gpu.extras import kernels_in
    from cdma.output import step_progress, warn

    check_densities(arguments.densities)
    check_between("rounds", arguments.rounds, 1, 1000)
    check_between("tensors", arguments.tensors, 1, 1 << 16)
    for size in arguments.sizes:
        check_between("sizes", size, 1 / 64, 1 << 16)
    bench = kernels_in("measure")
    bench.require_cuda()
    cases = [
        (name, density, size)
        for name in arguments.formats
        for size in arguments.sizes
        for density in arguments.densities
    ]
    rows: list[Row] = []
    left_out = cache(warn)
    with step_progress("measuring", len(cases)) as advance:
        for name, density, size in cases:
            many = f"{arguments.tensors} of " if arguments.tensors > 1 else ""
            title = f"{name}, {many}{size:g} MiB"
            given = (
                Format.preset(name),
                density,
                int(size * 2**20),
                arguments.tensors,
                arguments.rounds,
                arguments.seed,
                left_out,
            )
            rows += bench.measure(title, *given)
            advance()
    show_rows(arguments, rows, columns=_COLUMNS, texts=3, group=lambda row: row["data"])
    return 0


def _hostile(arguments: argparse.Namespace) -> int:
    from cdma.gpu.extras import kernels_in
    from cdma.output import step_progress

    check_between("hostile", arguments.hostile, 1, 1 << 20)
    check_between("seed", arguments.seed, 0, (1 << 64) - 1)
    with step_progress("comparing", arguments.hostile) as advance:
        row = kernels_in("hostile").hostile(arguments.hostile, arguments.seed, advance)
    show_rows(arguments, [row], columns=_HOSTILE_COLUMNS, texts=2, group=lambda row: row["card"])
    return 1 if row["differing"] else 0
