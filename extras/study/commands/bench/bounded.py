"""``cdma study bench bounded``: the ratio of activations within a bound, beside SZ's way and one after JPEG-ACT."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from cdma.command import ROWS, Command, option
from cdma.options import check_between
from cdma.result import Columns, Result, column, rows_result

_COLUMNS: Columns = {
    "tensor": column("tensor"),
    "bound": lambda row: f"2^{row['relative']}",
    "density": column("density", ".2f"),
    "error/rms": column("error", ".3f"),
    "cdma": column("cdma", ".1f"),
    "SZ": column("sz", ".1f"),
    "JPEG-ACT": column("jpeg", ".1f"),
}


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.study.compare.bounded_bench import RELATIVE, bounded_rows

    relative = tuple(arguments.relative or RELATIVE)
    for exponent in relative:
        check_between("relative", exponent, -12, -1)
    rows = [asdict(row) for row in bounded_rows(relative)]
    return rows_result(rows, _COLUMNS, 2, lambda row: row["relative"])


COMMAND = Command(
    "bounded",
    "the ratio within a bound on the error, beside SZ's and JPEG-ACT's ways",
    "Show bytes per compressed byte of the activations of ReLU networks that come with cdma, within bounds relative to the "
    "peak of each: integers and codes of this hardware, SZ's way (Lorenzo's prediction and a Huffman code, within the same "
    "bound) and one after JPEG-ACT (cosines of blocks, runs of zeros and a Huffman code, with the same mean square of the "
    "errors). The last two are rebuilt here for their ratio alone.",
    _run,
    {
        "": (
            option("--relative R+", "the bounds: 2**R of the peak (default -3 -5 -7)", int),
            ROWS,
        ),
    },
    ["", "--relative -4 --json"],
)  # fmt: skip
