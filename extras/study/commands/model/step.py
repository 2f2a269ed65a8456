"""``cdma study model step``, ``tensors`` and ``trace``: a step of training by policy, by map, and as a timeline."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.rows import Columns, add_row_options, column, named, show_rows

from .question import add_algorithms, add_question, models_of

if TYPE_CHECKING:
    from cdma.study.system.verdict import Verdict

__all__ = ["register"]

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


def register(modes: Any) -> None:
    """Adds the parsers."""
    parser = modes.add_parser(
        "step",
        help="a step of training under every policy, and a verdict",
        description="Evaluate steps of training under every policy of offloading: traffic, time, speedup over vDNN, memory; "
        "and say what to do, and how far that holds.",
    )
    group = add_question(parser)
    group.add_argument("--policy", nargs="+", metavar="P", help="only these policies (default: all)")
    add_algorithms(group)
    group.add_argument(
        "--measured",
        nargs="+",
        type=Path,
        metavar="FILE",
        default=[],
        help="what cdma bench swap --json printed, which verdicts then cite for the machine's card",
    )
    add_row_options(parser)
    parser.set_defaults(run=_step)
    parser = modes.add_parser(
        "tensors",
        help="a row for each map: density, ratio, and who would compress it",
        description="Show each map that may be offloaded, averaged over the training: density, ratio, and how often it pays "
        "to compress it, by CSWAP's equations and by the engine.",
    )
    add_algorithms(add_question(parser))
    add_row_options(parser)
    parser.set_defaults(run=_tensors)
    parser = modes.add_parser(
        "trace",
        help="the timeline of one step, for Perfetto",
        description="Write the timeline of one step, in the middle of the training, as a trace for Perfetto or "
        "chrome://tracing.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="where to write it, as JSON")
    group = add_question(parser, one=True)
    group.add_argument(
        "--policy", required=True, metavar="P", help="what is offloaded, and what compresses it"
    )
    group.add_argument("--algorithm", default="zv", metavar="A", help="the codec (default zv)")
    parser.set_defaults(run=_trace)


def _step(arguments: argparse.Namespace) -> int:
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
    show_rows(arguments, rows, columns=_STEPS, texts=4, group=_network_and_machine)
    for one in verdicts if not arguments.json else ():
        print(one)
    return 0


def _tensors(arguments: argparse.Namespace) -> int:
    from cdma.output import status
    from cdma.study.system.model import tensor_rows

    rows: list[dict[str, Any]] = []
    models = models_of(arguments)
    with status() as say:
        for model in models:
            say(model.network.name)
            for algorithm in arguments.algorithm:
                rows += tensor_rows(model, algorithm)
    show_rows(arguments, rows, columns=_TENSORS, texts=4, group=_network_and_machine)
    return 0


def _network_and_machine(row: dict[str, Any]) -> tuple[str, str]:
    return row["network"], row["machine"]


def _trace(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_file, write_text
    from cdma.study.system.traced import trace_events

    ready_file(arguments.file)
    (model,) = models_of(arguments)
    step = model.step(arguments.policy, arguments.algorithm, 0.5)
    write_text(arguments.file.parent, arguments.file.name, json.dumps(trace_events(step)))
    return 0
