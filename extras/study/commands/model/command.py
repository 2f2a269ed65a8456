"""``cdma study model``: what compression buys a network on a machine, and the papers' figures; each mode is a command."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from . import decode, measured, several, step
from .question import add_assumptions, densities_named

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "model",
        help="what compression buys a network on a machine",
        description="Evaluate the training of networks under policies of offloading. Each mode explains itself: "
        "cdma study model MODE --help. docs/study/model.md says what is measured, what is recorded and what is assumed.",
    )
    modes = parser.add_subparsers(title="modes", metavar="MODE", required=True)
    for mode in (step, several, decode, measured):
        mode.register(modes)
    figures = modes.add_parser(
        "figures",
        help="the papers' figures with our numbers",
        description="Draw the papers' figures with our numbers, and write the table of ours beside theirs.",
    )
    figures.add_argument("folder", type=Path, metavar="DIR", help="where to write them")
    add_assumptions(figures)
    figures.set_defaults(run=_figures)
    names = modes.add_parser(
        "list",
        help="networks, machines, links, policies",
        description="List the networks, machines, links, policies, algorithms and densities that can be named.",
    )
    names.set_defaults(run=_list, list=True)
    table = modes.add_parser(
        "assumptions",
        help="the table of assumptions, which can be edited",
        description="Print the table of assumptions. An edited copy is given back with --assumptions.",
    )
    table.set_defaults(run=_assumptions, list=True)
    measure = modes.add_parser(
        "measure",
        help="measure anew what the model is fitted to",
        description="Measure what the model is fitted to. engine: the cycles of codec and engine, counted under Verilator, "
        "which takes minutes. units: likewise, those of engines with several units. transformer: train the small "
        "transformer and record its densities and ratios; needs the extra torch.",
    )
    measure.add_argument("what", choices=("engine", "units", "transformer"))
    measure.add_argument("file", type=Path, metavar="FILE", help="where to write it, as JSON")
    measure.set_defaults(run=_measure)


def _figures(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_directory, write_folder
    from cdma.output import status
    from cdma.study.system.assumptions import load_assumptions
    from cdma.study.system.figures import model_files
    from cdma.study.system.headlines import bands, load_ranges
    from cdma.study.system.study import compare, study

    ready_directory(arguments.folder)
    assumptions, ranges = load_assumptions(arguments.assumptions), load_ranges(arguments.assumptions)
    densities, recorded = densities_named(arguments.densities), densities_named("recorded")
    others = {"slides": densities_named("slides")}
    with status() as say:
        result = study(assumptions, densities, recorded, say)
        found = bands(assumptions, ranges, densities, recorded, others, say)
    write_folder(arguments.folder, model_files(result, compare(result, assumptions), found))
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from cdma.study.system.compression import ALGORITHMS
    from cdma.study.system.density_table import bundled_densities
    from cdma.study.system.machine import link_names, machine_names
    from cdma.study.system.networks import network_names
    from cdma.study.system.policies import POLICIES

    for title, names in (
        ("networks", network_names()),
        ("machines", machine_names()),
        ("links", link_names()),
        ("policies", tuple(POLICIES)),
        ("algorithms", ALGORITHMS),
        ("densities", tuple(bundled_densities())),
    ):
        print(f"{title + ':':12}{' '.join(names)}")
    return 0


def _assumptions(arguments: argparse.Namespace) -> int:
    from cdma.study.system.assumptions import default_assumptions_path

    print(default_assumptions_path().read_text(encoding="utf-8"), end="")
    return 0


def _measure(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_file, write_text
    from cdma.output import status

    ready_file(arguments.file)
    with status() as say:
        if arguments.what == "transformer":
            from cdma.study.training.transformer_record import transformer_record

            text = transformer_record(
                progress=lambda part: say(f"training: {part:.0%}"),
                command=f"cdma study model measure transformer {arguments.file}",
            )
        else:
            from .measure_cycles import measure_cycles, measure_units

            text = measure_units(say) if arguments.what == "units" else measure_cycles(say)
    write_text(arguments.file.parent, arguments.file.name, text)
    return 0
