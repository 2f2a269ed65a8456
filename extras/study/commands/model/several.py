"""``cdma study model several``: several devices on several links, and what limits them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from cdma.command import ROWS, Command, option
from cdma.files import ready_file, write_text
from cdma.result import Columns, Result, column, named, rows_result

from .question import ALGORITHMS, models_of, question

_POLICIES = ("vdnn_all", "cdma")

_COLUMNS: Columns = {
    **named("network", "machine", "policy", "algorithm", "bottleneck"),
    "the next one": column("next_bottleneck"),
    "devices": column("devices"),
    "links": column("links"),
    "ms/step": lambda row: f"{1e3 * row['step_s']:.1f}",
    "images/s": column("images_per_s", ".0f"),
    "computing": column("efficiency", ".0%"),
    "links busy": column("link_use", ".0%"),
}
#: What rows between two lines have in common.
_GROUP = ("network", "machine", "policy", "algorithm")


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.output import status
    from cdma.study.system.model import usable
    from cdma.study.system.study import several

    if arguments.plot is not None:
        ready_file(arguments.plot, (".svg",))
    rows: list[dict[str, Any]] = []
    models = models_of(arguments)
    with status() as say:
        for model in models:
            for policy, algorithm in usable(arguments.policy, arguments.algorithm):
                for devices, links in product(arguments.devices, arguments.links):
                    say(f"{model.network.name}: {devices} devices on {links} links, {policy} {algorithm}")
                    rows.append(asdict(several(model, policy, algorithm, devices, links)))
    if arguments.plot is not None:
        write_text(arguments.plot.parent, arguments.plot.name, _picture(rows))
    return rows_result(rows, _COLUMNS, 6, lambda row: [row[name] for name in _GROUP])


def _picture(rows: Sequence[dict[str, Any]]) -> str:
    """The computation's part of the step, over links per device: how often the links are enough."""
    from cdma.study.svg import Line, line_chart

    lines: dict[str, dict[float, float]] = {}
    for row in rows:
        name = f"{row['network']}, {row['policy']}"
        lines.setdefault(name, {})[row["links"] / row["devices"]] = row["efficiency"]
    return line_chart(
        "Part of a step in which devices compute, by links per device",
        [
            Line(name, sorted(points), [points[x] for x in sorted(points)], dashed="vdnn" in name)
            for name, points in lines.items()
        ],
        x_label="links per device",
        y_label="part of the step",
        y_most=1.0,
        square_root=True,
    )


COMMAND = Command(
    "several",
    "several devices on several links, and what limits them",
    "Evaluate steps of several machines, each with a batch of its own, that share links, over all of which each transfer is "
    "spread; and say what limits them.",
    _run,
    {
        "question": (
            *question(),
            option("--devices N+", "machines", [1]),
            option("--links N+", "links", [1]),
            option("--policy P+", "policies", ["vdnn_all", "cdma"]),
            ALGORITHMS,
        ),
        "output": (
            ROWS,
            option("--plot FILE", "also draw the computation's part of the step over the links of a device (.svg)", Path),
        ),
    },
    ["--network vgg16 --devices 1 4 --links 1 2"],
)  # fmt: skip
