"""The options of ``cdma wave`` that all blocks share."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["KINDS", "add_wave_options"]

#: The kinds of files that a waveform can be written as.
KINDS = ("vcd", "gtkw", "svg")


def add_wave_options(block: argparse.ArgumentParser) -> None:
    """Adds where the waveform goes, which of its files, and how that is told."""
    group = block.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="directory (default: the current one)",
    )
    group.add_argument(
        "--only", nargs="+", choices=KINDS, default=KINDS, metavar="KIND", help="only vcd, gtkw or svg"
    )
    group.add_argument("--json", action="store_true", help="print what was written as JSON")
