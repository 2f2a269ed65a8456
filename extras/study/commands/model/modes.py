"""Modes of ``cdma study model``: a step of training by policy and by map; several devices on several links; and the
model beside measured steps. What they ask about: networks on machines, and the assumptions of the model.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Command, Option, option
from cdma.result import Columns, Result, column, named, rows_result

if TYPE_CHECKING:
    from cdma.study.system.density_table import DensityTable
    from cdma.study.system.model import Model
    from cdma.study.system.networks import Network
    from cdma.study.system.verdict import Verdict


#: The option that chooses codecs.
ALGORITHMS = option(
    "--algorithm A+", "codecs: zv, rl, zl, zl_hw for zlib as fast as known hardware, or fields for codes of the exponent",
    ["zv", "rl", "zl"],
)  # fmt: skip
#: What the model takes for granted.
ASSUMPTIONS = (
    option("--densities SOURCE", "recorded, slides (AlexNet's densities on the slides of cDMA), or a JSON file", str,
        default="recorded"),
    option("--assumptions FILE", "TOML file that changes assumptions of the model", Path),
)  # fmt: skip


def densities_named(source: str) -> DensityTable:
    """The densities that come with the package under a name, or those of a file."""
    from cdma.study.system.density_table import bundled_densities, load_densities, with_transformer

    return with_transformer(load_densities(bundled_densities().get(source, Path(source))))


def models_of(arguments: argparse.Namespace) -> list[Model]:
    """The networks on the machines that the parsed ``arguments`` name."""

    from cdma.study.system.density_table import with_run
    from cdma.study.system.headlines import NETWORKS
    from cdma.study.system.machine import load_assumptions, load_link, load_machine
    from cdma.study.system.model import Model
    from cdma.study.system.networks import load_network

    assumptions = load_assumptions(arguments.assumptions)
    densities, lines = with_run(densities_named(arguments.densities)), densities_named("recorded")
    if arguments.module is not None:
        networks = [_traced(arguments)]
    else:
        networks = [load_network(name) for name in arguments.network or NETWORKS]
    known = {**lines.networks, **densities.networks}
    for network in networks:
        if network.densities not in known:
            raise ParameterError(
                f"network {network.name} has densities = {network.densities!r}; it must be one of {', '.join(known)}"
            )
    if arguments.batch is not None:
        if arguments.batch < 1:
            raise ParameterError(f"batch is {arguments.batch}; it must be a whole number, 1 or more")
        networks = [replace(network, batch=arguments.batch) for network in networks]
    machines = [load_machine(name) for name in arguments.machine]
    if arguments.link:
        links = [load_link(name) for name in arguments.link]
        machines = [machine.with_link(link) for machine in machines for link in links]
    if arguments.d2h is not None or arguments.h2d is not None:
        machines = [
            machine.with_link(machine.link.with_rates(arguments.d2h, arguments.h2d)) for machine in machines
        ]
    return [
        Model(network, machine, assumptions, densities, lines) for machine in machines for network in networks
    ]


def _traced(arguments: argparse.Namespace) -> Network:
    from cdma.study.system.traced import trace_named

    if arguments.input is None:
        raise ParameterError("module is given without input, the shape of one input of the module")
    return trace_named(arguments.module, arguments.input, arguments.batch or 32, arguments.like)


def positive(text: str) -> float:
    """A number that is more than 0, such as a rate."""
    return _number(text, zero=False)


def time(text: str) -> float:
    """A number that is 0 or more."""
    return _number(text, zero=True)


def count(text: str) -> int:
    """A whole number that is 1 or more."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 or more")
    return int(text)


def _number(text: str, *, zero: bool) -> float:
    import math

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number, {'0 or more' if zero else 'more than 0'}"
        )
    return value


#: The options that :func:`models_of` reads.
QUESTION: tuple[Option | tuple[Option, ...], ...] = (
    (
        option("--network NET+", "layer tables by name, or TOML files (default: the seven of the papers' figures)"),
        option("--module PKG:FACTORY", "a network traced from the PyTorch module that this function makes; needs the extra "
            "torch"),
    ),
    option("--input SHAPE", "with --module: one input, without the batch, as 3x224x224, or 128:int for symbols"),
    option("--like NET", "with --module: whose recorded densities its layers take, also those of a network of cdma "
        "study collect (default vgg; transformer for transformers)", "vgg"),
    option("--machine M+", "names, or TOML files", ["titan_xp"]),
    option("--link LINK+", "in the place of the machine's own link"),
    option("--d2h GB/S", "peak rate of the link from the device to the host (default: the link's)", positive),
    option("--h2d GB/S", "peak rate of the link from the host back (default: the link's)", positive),
    option("--batch N", "images of a step (default: the network's)", int),
    *ASSUMPTIONS,
)  # fmt: skip


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
    models = models_of(arguments)
    with status() as say:
        for model in models:
            found = model.evaluate_all(policies, arguments.algorithm, say)
            say(f"{model.network.name} on {model.machine.name}: verdict")
            verdicts.append(verdict(model, policies, arguments.algorithm))
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


STEP = Command(
    "step",
    "a step of training under every policy, and a verdict",
    "Evaluate steps of training under every policy of offloading: traffic, time, speedup over vDNN, memory; and say what to "
    "do, and how far that holds.",
    _step,
    {
        "question": (
            *QUESTION,
            option("--policy P+", "only these policies (default: all)"),
            ALGORITHMS,
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
    {"question": (*QUESTION, ALGORITHMS), "": (ROWS,)},
    ["--network vgg16"],
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

    rows: list[dict[str, Any]] = []
    models = models_of(arguments)
    with status() as say:
        for model in models:
            for policy, algorithm in usable(arguments.policy, arguments.algorithm):
                for devices, links in product(arguments.devices, arguments.links):
                    say(f"{model.network.name}: {devices} devices on {links} links, {policy} {algorithm}")
                    rows.append(asdict(several(model, policy, algorithm, devices, links)))
    return rows_result(
        rows, _SEVERAL, 6, lambda row: [row[name] for name in ("network", "machine", "policy", "algorithm")]
    )


SEVERAL = Command(
    "several",
    "several devices on several links, and what limits them",
    "Evaluate steps of several machines, each with a batch of its own, that share links, over all of which each transfer is "
    "spread; and say what limits them.",
    _several,
    {
        "question": (
            *QUESTION,
            option("--devices N+", "machines", [1]),
            option("--links N+", "links", [1]),
            option("--policy P+", "policies", ["vdnn_all", "cdma"]),
            ALGORITHMS,
        ),
        "output": (ROWS,),
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
