"""``cdma model --devices --links``: several devices on several links, and what limits them."""

from __future__ import annotations

import argparse
import json
from itertools import product
from typing import TYPE_CHECKING

from cdma.base.errors import ParameterError
from cdma.files import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cdma.sim.study.system.model import Model
    from cdma.sim.study.system.several import Several

__all__ = ["show_several"]

_POLICIES = ("vdnn_all", "cdma")


def show_several(arguments: argparse.Namespace, models: Sequence[Model]) -> None:
    """Prints a row for every number of devices with every number of links, as the ``arguments`` want them."""
    _check(arguments)

    from cdma.output import status
    from cdma.sim.study.system.model import usable
    from cdma.sim.study.system.several import several

    rows: list[Several] = []
    with status() as say:
        for model in models:
            for policy, algorithm in usable(arguments.policy or _POLICIES, arguments.algorithm):
                for devices, links in product(arguments.devices or [1], arguments.links or [1]):
                    say(f"{model.network.name}: {devices} devices on {links} links, {policy} {algorithm}")
                    rows.append(several(model, policy, algorithm, devices, links))
    if arguments.plot is not None:
        with replacing(arguments.plot) as file:
            file.write(_picture(rows).encode())
    if arguments.json:
        print(json.dumps([row.as_dict() for row in rows], indent=1))
        return
    _print(rows)


def _check(arguments: argparse.Namespace) -> None:
    for name in ("tensors", "trace"):
        if getattr(arguments, name):
            raise ParameterError(
                f"{name} is given with devices or links; it shows a step of one device on one link"
            )


def _print(rows: Sequence[Several]) -> None:
    from cdma.output import new_table, output

    table = new_table(
        *("network", "machine", "policy", "algorithm", "bottleneck", "the next one"),
        *("devices", "links", "ms/step", "images/s", "computing", "links busy"),
        texts=6,
    )
    previous = None
    for row in rows:
        group = (row.network, row.machine, row.policy, row.algorithm)
        if previous not in (None, group):
            table.add_section()
        previous = group
        table.add_row(
            *(*group, row.bottleneck, row.next_bottleneck, str(row.devices), str(row.links)),
            *(f"{1e3 * row.step_s:.1f}", f"{row.images_per_s:.0f}"),
            *(f"{row.efficiency:.0%}", f"{row.link_use:.0%}"),
        )
    output().print(table)


def _picture(rows: Sequence[Several]) -> str:
    """The computation's part of the step, over links per device: how often the links are enough."""
    from cdma.sim.study.svg import Line, line_chart

    lines: dict[str, dict[float, float]] = {}
    for row in rows:
        name = f"{row.network}, {row.policy}"
        lines.setdefault(name, {})[row.links / row.devices] = row.efficiency
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
