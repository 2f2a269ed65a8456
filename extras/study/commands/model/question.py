"""What the modes of ``cdma study model`` ask about: networks on machines, and the assumptions of the model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.study.commands.numbers import positive

if TYPE_CHECKING:
    from cdma.study.system.density_table import DensityTable
    from cdma.study.system.model import Model
    from cdma.study.system.networks import Network

__all__ = ["add_algorithms", "add_assumptions", "add_question", "densities_named", "models_of"]


def add_question(parser: argparse.ArgumentParser, *, one: bool = False) -> Any:
    """Adds the options that :func:`models_of` reads, and returns their group; ``one`` network on one machine, or several."""
    several: dict[str, Any] = {} if one else {"nargs": "+"}
    group = parser.add_argument_group("question")
    source = group.add_mutually_exclusive_group(required=one)
    source.add_argument(
        "--network",
        **several,
        metavar="NET",
        help="a layer table by name, or a TOML file"
        if one
        else "layer tables by name, or TOML files (default: the seven of the papers' figures)",
    )
    source.add_argument(
        "--module",
        metavar="PKG:FACTORY",
        help="a network traced from the PyTorch module that this function makes; needs the extra torch",
    )
    group.add_argument(
        "--input",
        metavar="SHAPE",
        help="with --module: one input, without the batch, as 3x224x224, or 128:int for symbols",
    )
    group.add_argument(
        "--like",
        default="vgg",
        metavar="NET",
        help="with --module: whose recorded densities its layers take (default vgg; transformer for transformers)",
    )
    group.add_argument(
        "--machine",
        **several,
        default="titan_xp" if one else ["titan_xp"],
        metavar="M",
        help=f"{'a name, or a TOML file' if one else 'names, or TOML files'} (default titan_xp)",
    )
    group.add_argument("--link", **several, metavar="LINK", help="in the place of the machine's own link")
    for name, way in (("d2h", "from the device to the host"), ("h2d", "from the host back")):
        group.add_argument(
            f"--{name}",
            type=positive,
            metavar="GB/S",
            help=f"peak rate of the link {way} (default: the link's)",
        )
    group.add_argument("--batch", type=int, metavar="N", help="images of a step (default: the network's)")
    add_assumptions(group)
    return group


def add_algorithms(group: Any) -> None:
    """Adds the option that chooses codecs."""
    group.add_argument(
        "--algorithm",
        nargs="+",
        default=["zv", "rl", "zl"],
        metavar="A",
        help="codecs: zv, rl, zl, zl_hw for zlib as fast as known hardware, or fields for codes of the exponent "
        "(default zv rl zl)",
    )


def add_assumptions(group: Any) -> None:
    """Adds the options that say what the model takes for granted."""
    group.add_argument(
        "--densities",
        default="recorded",
        metavar="SOURCE",
        help="recorded, slides (AlexNet's densities on the slides of cDMA), or a JSON file",
    )
    group.add_argument(
        "--assumptions", type=Path, metavar="FILE", help="TOML file that changes assumptions of the model"
    )


def densities_named(source: str) -> DensityTable:
    """The densities that come with the package under a name, or those of a file."""
    from cdma.study.system.density_table import bundled_densities, load_densities, with_transformer

    return with_transformer(load_densities(bundled_densities().get(source, Path(source))))


def models_of(arguments: argparse.Namespace) -> list[Model]:
    """The networks on the machines that the parsed ``arguments`` name."""
    from dataclasses import replace

    from cdma.study.system.assumptions import load_assumptions
    from cdma.study.system.headlines import NETWORKS
    from cdma.study.system.machine import load_link, load_machine
    from cdma.study.system.model import Model
    from cdma.study.system.networks import load_network

    assumptions = load_assumptions(arguments.assumptions)
    densities, lines = densities_named(arguments.densities), densities_named("recorded")
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
