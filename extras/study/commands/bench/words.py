"""``cdma study bench words``: the ratio of recorded activations by the word, the window and the bits of a code."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from cdma.command import ROWS, Command
from cdma.result import Columns, Result, column, rows_result

_COLUMNS: Columns = {
    "numbers": column("number_type"),
    "word bits": column("word_bits"),
    "window": column("window"),
    "code bits": column("code_bits"),
    "ratio": column("ratio", ".2f"),
    "bytes at density 0": column("base", ".3f"),
    "per density": column("slope", ".3f"),
    "at most off": column("error", ".3f"),
}


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.study.compare.word_bench import word_laws

    return rows_result(
        [asdict(law) for law in word_laws()], _COLUMNS, 1, lambda row: (row["number_type"], row["word_bits"])
    )


COMMAND = Command(
    "words",
    "the ratio of activations by word, window and bits of a code",
    "Show what words, windows and codes of more bits do to the activations of ReLU networks that come with cdma, each with "
    "the table of frequent words that suits all of them: their ratio, and compressed bytes per raw byte as a line over the "
    "density. cdma study tune hardware searches with these lines.",
    _run,
    {
        "": (ROWS,),
    },
    ["", "--markdown"],
)  # fmt: skip
