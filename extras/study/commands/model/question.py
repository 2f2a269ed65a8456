"""What the modes of ``cdma study model`` ask about: networks on machines, and the assumptions of the model. Numbers on
command lines, refused where they are not finite or too small."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.base.errors import ParameterError
from cdma.command import Option, option

if TYPE_CHECKING:
    from cdma.study.system.density_table import DensityTable
    from cdma.study.system.model import Model
    from cdma.study.system.networks import Network


def question(*, one: bool = False) -> list[Option | tuple[Option, ...]]:
    """The options that :func:`models_of` reads: for ``one`` network on one machine, or several."""
    many = "" if one else "+"
    named = "a layer table by name, or a TOML file" if one else "layer tables by name, or TOML files"
    all_named = named if one else f"{named} (default: the seven of the papers' figures)"
    machines = "a name, or a TOML file" if one else "names, or TOML files"
    source = (
        option(f"--network NET{many}", all_named, required=one),
        option("--module PKG:FACTORY", "a network traced from the PyTorch module that this function makes; needs the extra "
            "torch"),
    )  # fmt: skip
    return [
        source,
        option("--input SHAPE", "with --module: one input, without the batch, as 3x224x224, or 128:int for symbols"),
        option("--like NET", "with --module: whose recorded densities its layers take, also those of a network of cdma "
            "study collect (default vgg; transformer for transformers)", "vgg"),
        option(f"--machine M{many}", machines, "titan_xp" if one else ["titan_xp"]),
        option(f"--link LINK{many}", "in the place of the machine's own link"),
        option("--d2h GB/S", "peak rate of the link from the device to the host (default: the link's)", positive),
        option("--h2d GB/S", "peak rate of the link from the host back (default: the link's)", positive),
        option("--batch N", "images of a step (default: the network's)", int),
        *ASSUMPTIONS,
    ]  # fmt: skip


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
    from dataclasses import replace

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
        networks = [load_network(name) for name in _listed(arguments.network) or NETWORKS]
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
    machines = [load_machine(name) for name in _listed(arguments.machine)]
    if arguments.link:
        links = [load_link(name) for name in _listed(arguments.link)]
        machines = [machine.with_link(link) for machine in machines for link in links]
    if arguments.d2h is not None or arguments.h2d is not None:
        machines = [
            machine.with_link(machine.link.with_rates(arguments.d2h, arguments.h2d)) for machine in machines
        ]
    return [
        Model(network, machine, assumptions, densities, lines) for machine in machines for network in networks
    ]


def _listed(names: str | list[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else names or []


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
