"""``cdma bench words``: the ratio of recorded activations by the word, the window and the bits of a code."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from cdma.rows import Columns, add_row_options

from .tables import show_table

__all__ = ["register"]

_COLUMNS: Columns = {
    "numbers": lambda row: str(row["number_type"]),
    "word bits": lambda row: str(row["word_bits"]),
    "window": lambda row: str(row["window"]),
    "code bits": lambda row: str(row["code_bits"]),
    "ratio": lambda row: f"{row['ratio']:.2f}",
    "bytes at density 0": lambda row: f"{row['base']:.3f}",
    "per density": lambda row: f"{row['slope']:.3f}",
    "at most off": lambda row: f"{row['error']:.3f}",
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "words",
        help="the ratio of activations by word, window and bits of a code",
        description="Show what words, windows and codes of more bits do to the activations of ReLU networks that come with "
        "cdma, each with the table of frequent words that suits all of them: their ratio, and compressed bytes per raw "
        "byte as a line over the density. cdma tune hardware searches with these lines.",
    )
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.sim.study.compare.word_bench import word_laws

    show_table(
        arguments,
        [asdict(law) for law in word_laws()],
        _COLUMNS,
        texts=1,
        group=lambda row: (row["number_type"], row["word_bits"]),
    )
    return 0
