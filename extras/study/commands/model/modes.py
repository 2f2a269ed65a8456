"""Modes of ``cdma study model``: a step of training by policy, by map, and as a timeline; several devices on several
links; and the model beside measured steps."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.command import ROWS, Command, option
from cdma.files import ready_file, write_text
from cdma.result import Columns, Result, column, named, rows_result

from .question import ALGORITHMS, ASSUMPTIONS, densities_named, models_of, question

if TYPE_CHECKING:
    from cdma.study.system.networks import Network
    from cdma.study.system.verdict import Verdict

_STEPS: Columns = {
    **named("network", "machine", "policy", "algorithm"),
    "ratio": column("ratio", ".2f"),
    "GB/step": lambda row: f"{row['traffic_bytes'] / 1e9:.2f}",
    "ms/step": lambda row: f"{1e3 * row['step_s']:.1f}",
    "over vDNN": column("speedup_over_vdnn", ".2f"),
    "peak GiB": lambda row: f"{row['peak_bytes'] / 2**30:.2f}",
    "fits": lambda row: "yes" if row["fits"] else "no",
}

_TENSORS: Columns = {
    **named("network", "machine", "tensor", "algorithm"),
    "MB": lambda row: f"{row['bytes'] / 1e6:.1f}",
    "density": column("density", ".2f"),
    "ratio": column("ratio", ".2f"),
    "CSWAP compresses": lambda row: f"{100 * row['cswap_compresses']:.0f} %",
    "by engine": lambda row: f"{100 * row['engine_compresses']:.0f} %",
}


def _step(arguments: argparse.Namespace) -> Result:
    from cdma.output import status
    from cdma.study.system.measured import cited, read_measured
    from cdma.study.system.policies import COMPRESSING, POLICIES
    from cdma.study.system.verdict import verdict

    # Without --policy, those that do not compress, or can use one of the algorithms.
    policies = arguments.policy or [
        policy
        for policy in POLICIES
        if policy not in COMPRESSING or set(COMPRESSING[policy]) & set(arguments.algorithm)
    ]
    rows: list[dict[str, Any]] = []
    verdicts: list[Verdict] = []
    measured = read_measured(arguments.measured)
    models = models_of(arguments)
    with status() as say:
        for model in models:
            found = model.evaluate_all(policies, arguments.algorithm, say)
            say(f"{model.network.name} on {model.machine.name}: verdict")
            verdicts.append(
                replace(verdict(model, policies, arguments.algorithm), measured=cited(model, measured))
            )
            rows += [{**asdict(row), "verdict": asdict(verdicts[-1])} for row in found]
    return Result(rows, [*rows_result(rows, _STEPS, 4, _network_and_machine).parts, *map(str, verdicts)])


def _tensors(arguments: argparse.Namespace) -> Result:
    from cdma.output import status
    from cdma.study.system.model import tensor_rows

    rows: list[dict[str, Any]] = []
    models = models_of(arguments)
    with status() as say:
        for model in models:
            say(model.network.name)
            for algorithm in arguments.algorithm:
                rows += tensor_rows(model, algorithm)
    return rows_result(rows, _TENSORS, 4, _network_and_machine)


def _network_and_machine(row: dict[str, Any]) -> tuple[str, str]:
    return row["network"], row["machine"]


def _trace(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_file, write_text
    from cdma.study.system.traced import trace_events

    ready_file(arguments.file)
    (model,) = models_of(arguments)
    step = model.step(arguments.policy, arguments.algorithm, 0.5)
    write_text(arguments.file.parent, arguments.file.name, json.dumps(trace_events(step)))
    return Result(None)


STEP = Command(
    "step",
    "a step of training under every policy, and a verdict",
    "Evaluate steps of training under every policy of offloading: traffic, time, speedup over vDNN, memory; and say what to "
    "do, and how far that holds.",
    _step,
    {
        "question": (
            *question(),
            option("--policy P+", "only these policies (default: all)"),
            ALGORITHMS,
            option("--measured FILE+", "what cdma bench swap --json printed, which verdicts then cite for the machine's "
                "card", Path, default=[]),
        ),
        "": (ROWS,),
    },
    ["", "--network vgg16 --policy cdma", "--link pcie3 nvlink2 --json"],
)  # fmt: skip
TENSORS = Command(
    "tensors",
    "a row for each map: density, ratio, and who would compress it",
    "Show each map that may be offloaded, averaged over the training: density, ratio, and how often it pays to compress it, "
    "by CSWAP's equations and by the engine.",
    _tensors,
    {"question": (*question(), ALGORITHMS), "": (ROWS,)},
    ["--network vgg16"],
)
TRACE = Command(
    "trace",
    "the timeline of one step, for Perfetto",
    "Write the timeline of one step, in the middle of the training, as a trace for Perfetto or chrome://tracing.",
    _trace,
    {
        "": (option("file FILE", "where to write it, as JSON", Path),),
        "question": (
            *question(one=True),
            option("--policy P", "what is offloaded, and what compresses it", required=True),
            option("--algorithm A", "the codec", "zv"),
        ),
    },
    ["step.json --network vgg16 --policy cdma"],
)


_SEVERAL: Columns = {
    **named("network", "machine", "policy", "algorithm", "bottleneck"),
    "the next one": column("next_bottleneck"),
    "devices": column("devices"),
    "links": column("links"),
    "ms/step": lambda row: f"{1e3 * row['step_s']:.1f}",
    "images/s": column("images_per_s", ".0f"),
    "computing": column("efficiency", ".0%"),
    "links busy": column("link_use", ".0%"),
}


def _several(arguments: argparse.Namespace) -> Result:
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
    return rows_result(
        rows, _SEVERAL, 6, lambda row: [row[name] for name in ("network", "machine", "policy", "algorithm")]
    )


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


SEVERAL = Command(
    "several",
    "several devices on several links, and what limits them",
    "Evaluate steps of several machines, each with a batch of its own, that share links, over all of which each transfer is "
    "spread; and say what limits them.",
    _several,
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


_RESIDUALS: Columns = {
    "card": column("card"),
    "network": column("network"),
    "policy": column("policy"),
    "batch": column("batch"),
    "measured ms": column("measured_ms", ".1f"),
    "model ms": column("predicted_ms", ".1f"),
    "residual": column("residual", "+.1%"),
    "with plain's ms": column("paced_ms", ".1f"),
    "its residual": column("paced_residual", "+.1%"),
}


def _residuals(arguments: argparse.Namespace) -> Result:
    from cdma.study.system.machine import load_assumptions, load_machine
    from cdma.study.system.measured import machine_of, read_measured, residual_row, residuals

    found = list(
        residuals(
            read_measured(arguments.files),
            lambda card: load_machine(arguments.machine or machine_of(card)),
            load_assumptions(arguments.assumptions),
            densities_named(arguments.densities),
            network_for,
        )
    )
    rows = [residual_row(one) for one in found]
    off = ", ".join(dict.fromkeys(one.network for one in found if one.off)) or "none"
    table = rows_result(rows, _RESIDUALS, 3, lambda row: (row["card"], row["network"]))
    return Result(rows, [*table.parts, f"off by more than 10 %: {off}"])


RESIDUALS = Command(
    "residuals",
    "the model's steps beside measured ones",
    "Compare the model's step for each network, policy, batch and card with the measured one, all maps of the density that "
    "the measured ratio means. Once more it is compared with all computation as long as plain training was, and networks "
    "are named whose steps are then off by more than 10 %.",
    _residuals,
    {
        "": (
            option("files FILE+", "what cdma bench swap --json printed", Path),
            option("--machine M", "a name, or a TOML file (default: the machine with the card of a row)"),
            *ASSUMPTIONS,
            ROWS,
        ),
    },
    ["rows.json", "rows.json --machine mine.toml --json"],
)

#: One image of digits, and the classes.
_SHAPE, _CLASSES = (1, 32, 32), 10


def network_for(name: str) -> Network | None:
    """The model's network for one that a bench trains: from its table, or a small one as PyTorch traces it. None of what the
    model has neither a table nor a module for."""
    from cdma.study.system.measured import modelled_name
    from cdma.study.system.networks import load_network
    from cdma.study.system.traced import trace
    from cdma.torch.networks import NETWORKS

    if name in NETWORKS:
        from cdma.torch.networks.networks import BUILDERS

        return trace(BUILDERS[name](_CLASSES), _SHAPE, False, 1, name, name)
    table = modelled_name(name)
    return None if table is None else load_network(table)
