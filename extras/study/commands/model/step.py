"""``cdma study model step``, ``tensors`` and ``trace``: a step of training by policy, by map, and as a timeline."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.command import ROWS, Command, option
from cdma.result import Columns, Result, column, named, rows_result

from .question import ALGORITHMS, models_of, question

if TYPE_CHECKING:
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
