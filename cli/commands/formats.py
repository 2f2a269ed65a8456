"""``cdma formats``: the formats that have a name."""

from __future__ import annotations

import argparse
import json
from typing import Any

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "formats",
        help="the formats that have a name",
        description="List the formats for --format NAME, and what each is for.",
    )
    parser.add_argument("--json", action="store_true", help="print names, uses and parameters as JSON")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.hdl.spec.format import PRESETS, Format
    from cdma.output import new_table, output

    if arguments.json:
        rows = [
            {"name": name, "for": preset.summary, **Format.preset(name).settings()}
            for name, preset in PRESETS.items()
        ]
        print(json.dumps(rows, indent=2))
        return 0
    table = new_table("format", "for", "what it is", "word bits", texts=3)
    for name, preset in PRESETS.items():
        format = Format.preset(name)
        table.add_row(name, preset.summary, format.summary(at_run_time=False), str(format.word_bits))
    output().print(table)
    return 0
