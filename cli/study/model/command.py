"""``cdma model``: what compression buys a network on a machine, and the papers' figures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError

if TYPE_CHECKING:
    from cdma.sim.study.system.assumptions import Assumptions
    from cdma.sim.study.system.density_table import DensityTable
    from cdma.sim.study.system.model import Model, Result
    from cdma.sim.study.system.networks import Network
    from cdma.sim.study.system.verdict import Verdict

__all__ = ["register"]

#: Options that name a file to write, and the endings that it may have.
_FILES = {
    "trace": (),
    "measure_engine": (),
    "measure_units": (),
    "measure_transformer": (),
    "plot": (".svg",),
}

_ALGORITHMS = ("zv", "rl", "zl")


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "model",
        help="what compression buys a network on a machine",
        description="Evaluate steps of training under every policy of offloading: traffic, time, speedup "
        "over vDNN, memory. docs/study/model.md says what is measured, what is recorded and what is assumed.",
    )
    group = parser.add_argument_group("question")
    group.add_argument(
        "--network",
        nargs="+",
        metavar="NET",
        help="layer tables by name, or TOML files (default: the seven of the papers' figures)",
    )
    group.add_argument(
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
        nargs="+",
        default=["titan_xp"],
        metavar="M",
        help="names, or TOML files (default titan_xp)",
    )
    group.add_argument("--link", nargs="+", metavar="LINK", help="links in the place of the machines' own")
    group.add_argument("--policy", nargs="+", metavar="P", help="only these policies (default: all)")
    group.add_argument(
        "--algorithm",
        nargs="+",
        default=list(_ALGORITHMS),
        metavar="A",
        help="codecs: zv, rl, zl, zl_hw for zlib as fast as known hardware, or fields for codes of the exponent "
        "(default zv rl zl)",
    )
    group.add_argument("--batch", type=int, metavar="N", help="images of a step (default: the network's)")
    group.add_argument(
        "--devices",
        type=int,
        nargs="+",
        metavar="N",
        help="so many machines, each with a batch of its own, share the links (default 1); shows what limits them",
    )
    group.add_argument(
        "--links",
        type=int,
        nargs="+",
        metavar="N",
        help="so many links, over all of which each transfer is spread (default 1); shows what limits them",
    )
    group.add_argument(
        "--decode",
        type=int,
        nargs="+",
        metavar="TOKENS",
        help="instead of a step of training: the next token of each of --batch sequences after so many, with a cache of "
        "keys and values of which the host has what the device has no room for",
    )
    group.add_argument(
        "--densities",
        default="recorded",
        metavar="SOURCE",
        help="recorded, slides (AlexNet's densities on the slides of cDMA), or a JSON file",
    )
    group.add_argument(
        "--assumptions",
        type=Path,
        metavar="FILE",
        help="TOML file that changes assumptions of the model",
    )
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the rows as JSON")
    group.add_argument(
        "--tensors",
        action="store_true",
        help="print a row for each map: density, ratio, and what CSWAP decides",
    )
    group.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write the timeline of one step as a trace for Perfetto or chrome://tracing; needs one network, "
        "one machine and one policy",
    )
    group.add_argument(
        "--figures", type=Path, metavar="DIR", help="draw the papers' figures into DIR, and end"
    )
    group.add_argument(
        "--show-assumptions",
        action="store_true",
        help="print the table of assumptions, which can be edited, and end",
    )
    group.add_argument(
        "--list", action="store_true", help="list networks, machines, links and policies, and end"
    )
    group.add_argument(
        "--measure-engine",
        type=Path,
        metavar="FILE",
        help="write the cycles of codec and engine, counted under Verilator, to FILE, which takes minutes, and end",
    )
    group.add_argument(
        "--measure-units",
        type=Path,
        metavar="FILE",
        help="write the cycles of engines with several units, counted under Verilator, to FILE, and end",
    )
    group.add_argument(
        "--measure-transformer",
        type=Path,
        metavar="FILE",
        help="train the small transformer and write its densities and ratios to FILE, and end; needs the extra torch",
    )
    group.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="with --devices or --links: also draw the computation's part of the step over them (.svg)",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_directory, ready_file
    from cdma.sim.study.system.assumptions import default_assumptions_path, load_assumptions

    if arguments.figures is not None:
        ready_directory(arguments.figures)
    for name, endings in _FILES.items():
        if (path := getattr(arguments, name)) is not None:
            if not path.parent.exists():
                ready_directory(path.parent)
            else:
                ready_file(path, endings)
    if arguments.show_assumptions:
        print(default_assumptions_path().read_text(encoding="utf-8"), end="")
    elif arguments.list:
        _list()
    elif arguments.measure_engine is not None:
        _measure(arguments.measure_engine)
    elif arguments.measure_units is not None:
        _measure(arguments.measure_units, units=True)
    elif arguments.measure_transformer is not None:
        _measure_transformer(arguments.measure_transformer)
    else:
        assumptions = load_assumptions(arguments.assumptions)
        densities = _densities(arguments.densities)
        if arguments.figures is not None:
            _figures(arguments, assumptions, densities)
            return 0
        models = _models(arguments, assumptions, densities, _densities("recorded"))
        if arguments.decode:
            from .decode import show_decoding

            show_decoding(arguments, models)
        elif arguments.devices or arguments.links:
            from .several import show_several

            show_several(arguments, models)
        elif arguments.plot is not None:
            raise ParameterError("plot is given without devices or links, over which it draws")
        elif arguments.trace is not None:
            _trace(arguments, models)
        elif arguments.tensors:
            _tensors(arguments, models)
        else:
            _rows(arguments, models)
    return 0


def _densities(source: str) -> DensityTable:
    from cdma.sim.study.system.density_table import bundled_densities, load_densities, with_transformer

    return with_transformer(load_densities(bundled_densities().get(source, Path(source))))


def _models(
    arguments: argparse.Namespace, assumptions: Assumptions, densities: DensityTable, lines: DensityTable
) -> list[Model]:
    from dataclasses import replace

    from cdma.sim.study.system.headlines import NETWORKS
    from cdma.sim.study.system.machine import load_link, load_machine
    from cdma.sim.study.system.model import Model
    from cdma.sim.study.system.networks import load_network

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
        machines = [machine.with_link(load_link(link)) for machine in machines for link in arguments.link]
    return [
        Model(network, machine, assumptions, densities, lines) for machine in machines for network in networks
    ]


def _traced(arguments: argparse.Namespace) -> Network:
    from cdma.sim.study.system.traced import trace_named

    if arguments.input is None or arguments.network:
        raise ParameterError(
            "module is given with network, or without input, the shape of one input of the module"
        )
    return trace_named(arguments.module, arguments.input, arguments.batch or 32, arguments.like)


def _rows(arguments: argparse.Namespace, models: list[Model]) -> None:
    from cdma.output import status
    from cdma.sim.study.system.policies import COMPRESSING, POLICIES
    from cdma.sim.study.system.verdict import verdict

    # Without --policy, those that do not compress, or can use one of the algorithms.
    policies = arguments.policy or [
        policy
        for policy in POLICIES
        if policy not in COMPRESSING or set(COMPRESSING[policy]) & set(arguments.algorithm)
    ]
    rows: list[Result] = []
    dicts: list[dict[str, Any]] = []
    verdicts: list[Verdict] = []
    with status() as say:
        for model in models:
            found = model.evaluate_all(policies, arguments.algorithm, say)
            say(f"{model.network.name} on {model.machine.name}: verdict")
            verdicts.append(verdict(model, policies, arguments.algorithm))
            rows += found
            dicts += [{**row.as_dict(), "verdict": verdicts[-1].as_dict()} for row in found]
    if arguments.json:
        print(json.dumps(dicts, indent=1))
        return
    titles = ["network", "machine", "policy", "algorithm"]
    titles += ["ratio", "GB/step", "ms/step", "over vDNN", "peak GiB", "fits"]
    _print_table(
        titles,
        [
            [
                *(row.network, row.machine, row.policy, row.algorithm, f"{row.ratio:.2f}"),
                *(
                    f"{row.traffic_bytes / 1e9:.2f}",
                    f"{1e3 * row.step_s:.1f}",
                    f"{row.speedup_over_vdnn:.2f}",
                ),
                *(f"{row.peak_bytes / 2**30:.2f}", "yes" if row.fits else "no"),
            ]
            for row in rows
        ],
        left=4,
    )
    for one in verdicts:
        print(one)


def _tensors(arguments: argparse.Namespace, models: list[Model]) -> None:
    from cdma.output import status
    from cdma.sim.study.system.model import tensor_rows

    rows: list[dict[str, Any]] = []
    with status() as say:
        for model in models:
            say(model.network.name)
            for algorithm in arguments.algorithm:
                rows += tensor_rows(model, algorithm)
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    _print_table(
        [
            "network",
            "machine",
            "tensor",
            "algorithm",
            "MB",
            "density",
            "ratio",
            "CSWAP compresses",
            "by engine",
        ],
        [
            [
                *(row["network"], row["machine"], row["tensor"], row["algorithm"]),
                *(f"{row['bytes'] / 1e6:.1f}", f"{row['density']:.2f}", f"{row['ratio']:.2f}"),
                *(f"{100 * row['cswap_compresses']:.0f} %", f"{100 * row['engine_compresses']:.0f} %"),
            ]
            for row in rows
        ],
        left=4,
    )


def _print_table(titles: list[str], rows: list[list[str]], left: int) -> None:
    from rich.table import Table

    from cdma.output import cell, output

    table = Table(box=None, pad_edge=False)
    for index, title in enumerate(titles):
        table.add_column(title, justify="left" if index < left else "right", no_wrap=True)
    previous = None
    for row in rows:
        if previous is not None and row[:2] != previous:
            table.add_section()
        previous = row[:2]
        table.add_row(*map(cell, row))
    output().print(table)


def _trace(arguments: argparse.Namespace, models: list[Model]) -> None:
    from cdma.sim.study.system.trace import trace_events

    if len(models) != 1 or len(arguments.policy or ()) != 1:
        raise ParameterError(
            f"--trace is given with {len(models)} pairs of network and machine and "
            f"{len(arguments.policy or ())} policies; it draws one step, so give one of each"
        )
    step = models[0].step(arguments.policy[0], arguments.algorithm[0], 0.5)
    _write(arguments.trace.parent, {arguments.trace.name: json.dumps(trace_events(step))})


def _figures(arguments: argparse.Namespace, assumptions: Assumptions, densities: DensityTable) -> None:
    from cdma.output import status
    from cdma.sim.study.system.figures import model_files
    from cdma.sim.study.system.headlines import bands
    from cdma.sim.study.system.ranges import load_ranges
    from cdma.sim.study.system.study import compare, study

    ranges, others = load_ranges(arguments.assumptions), {"slides": _densities("slides")}
    with status() as say:
        recorded = _densities("recorded")
        result = study(assumptions, densities, recorded, say)
        found = bands(assumptions, ranges, densities, recorded, others, say)
    _write(arguments.figures, model_files(result, compare(result, assumptions), found))


def _list() -> None:
    from cdma.sim.study.system.compression import ALGORITHMS
    from cdma.sim.study.system.density_table import bundled_densities
    from cdma.sim.study.system.machine import link_names, machine_names
    from cdma.sim.study.system.networks import network_names
    from cdma.sim.study.system.policies import POLICIES

    for title, names in (
        ("networks", network_names()),
        ("machines", machine_names()),
        ("links", link_names()),
        ("policies", tuple(POLICIES)),
        ("algorithms", ALGORITHMS),
        ("densities", tuple(bundled_densities())),
    ):
        print(f"{title + ':':12}{' '.join(names)}")


def _measure(path: Path, *, units: bool = False) -> None:
    from cdma.output import status
    from cdma.verif.measure_cycles import measure_cycles, measure_units

    with status() as say:
        text = measure_units(say) if units else measure_cycles(say)
    _write(path.parent, {path.name: text})


def _measure_transformer(path: Path) -> None:
    from cdma.output import status
    from cdma.sim.study.training.transformer_record import transformer_record

    with status() as say:
        text = transformer_record(
            progress=lambda part: say(f"training: {part:.0%}"),
            command=f"cdma model --measure-transformer {path}",
        )
    _write(path.parent, {path.name: text})


def _write(directory: Path, files: Mapping[str, str]) -> None:
    from cdma.files import make_directory, replacing

    make_directory(directory)
    for name, text in files.items():
        with replacing(directory / name) as file:
            file.write(text.encode())
