"""``cdma formats``: the formats that have a name."""

from __future__ import annotations

import argparse

from cdma.base.document import Table
from cdma.command import Command, flag
from cdma.result import Result


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.hdl.spec.format import PRESETS, Format

    formats = {name: (preset.summary, Format.preset(name)) for name, preset in PRESETS.items()}
    rows = [{"name": name, "for": use, **form.settings()} for name, (use, form) in formats.items()]
    cells = [
        (name, use, form.summary(at_run_time=False), str(form.word_bits))
        for name, (use, form) in formats.items()
    ]
    return Result(rows, [Table(("format", "for", "what it is", "word bits"), cells, (3,))])


COMMAND = Command(
    "formats",
    "the formats that have a name",
    "List the formats for --format NAME, and what each is for.",
    _run,
    {
        "": (flag("--json", "print names, uses and parameters as JSON"),),
    },
    ["", "--json"],
)  # fmt: skip
