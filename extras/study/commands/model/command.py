"""``cdma study model``: what compression buys a network on a machine, and the papers' figures; each mode is a command."""

from __future__ import annotations

import argparse
from pathlib import Path

from cdma.command import Command, Option, option
from cdma.result import Result

from . import decode, measured, several, step
from .question import ASSUMPTIONS, densities_named


def _figures(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_directory, write_folder
    from cdma.output import status
    from cdma.study.real.record import recorded, recorded_names
    from cdma.study.system.assumptions import load_assumptions
    from cdma.study.system.density_table import load_densities
    from cdma.study.system.figures import model_files
    from cdma.study.system.headlines import bands, load_ranges
    from cdma.study.system.papers import comet_figures, pages
    from cdma.study.system.study import compare, study

    ready_directory(arguments.folder)
    assumptions, ranges = load_assumptions(arguments.assumptions), load_ranges(arguments.assumptions)
    densities, lines = densities_named(arguments.densities), densities_named("recorded")
    others = {"slides": densities_named("slides")}
    with status() as say:
        result = study(assumptions, densities, lines, say)
        found = bands(assumptions, ranges, densities, lines, others, say)
    records = [recorded(name) for name in recorded_names()]
    compared = compare(result, assumptions, comet_figures(records))
    written = pages(result, compared, found, records, load_densities())
    write_folder(arguments.folder, model_files(result, compared, found) | written)
    return Result(None)


def _list(arguments: argparse.Namespace) -> Result:
    from cdma.study.system.compression import ALGORITHMS
    from cdma.study.system.density_table import bundled_densities
    from cdma.study.system.machine import link_names, machine_names
    from cdma.study.system.networks import network_names
    from cdma.study.system.policies import POLICIES

    known = {
        "networks": network_names(),
        "machines": machine_names(),
        "links": link_names(),
        "policies": tuple(POLICIES),
        "algorithms": ALGORITHMS,
        "densities": tuple(bundled_densities()),
    }
    return Result(None, [f"{title + ':':12}{' '.join(names)}" for title, names in known.items()])


def _assumptions(arguments: argparse.Namespace) -> Result:
    from cdma.study.system.assumptions import default_assumptions_path

    return Result(None, [default_assumptions_path().read_text(encoding="utf-8").rstrip("\n")])


def _measure(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_file, write_text
    from cdma.output import status

    ready_file(arguments.file)
    with status() as say:
        if arguments.what == "transformer":
            from cdma.study.training.transformer import transformer_record

            text = transformer_record(
                progress=lambda part: say(f"training: {part:.0%}"),
                command=f"cdma study model measure transformer {arguments.file}",
            )
        else:
            from .measure_cycles import measure_cycles, measure_units

            text = measure_units(say) if arguments.what == "units" else measure_cycles(say)
    write_text(arguments.file.parent, arguments.file.name, text)
    return Result(None)


_FIGURES = Command(
    "figures",
    "the papers' figures with our numbers",
    "Draw the papers' figures with our numbers, and write the table of ours beside theirs.",
    _figures,
    {"": (option("folder DIR", "where to write them", Path), *ASSUMPTIONS)},
    ["figures"],
)
_NAMES = Command(
    "list",
    "networks, machines, links, policies",
    "List the networks, machines, links, policies, algorithms and densities that can be named.",
    _list,
    examples=[""],
    fixed={"list": True},
)
_TABLE = Command(
    "assumptions",
    "the table of assumptions, which can be edited",
    "Print the table of assumptions. An edited copy is given back with --assumptions.",
    _assumptions,
    examples=["> mine.toml"],
    fixed={"list": True},
)
_MEASURE = Command(
    "measure",
    "measure anew what the model is fitted to",
    "Measure what the model is fitted to. engine: the cycles of codec and engine, counted under Verilator, which takes "
    "minutes. units: likewise, those of engines with several units. transformer: train the small transformer and record its "
    "densities and ratios; needs the extra torch.",
    _measure,
    {
        "": (
            Option(["what"], {"choices": ("engine", "units", "transformer")}),
            option("file FILE", "where to write it, as JSON", Path),
        )
    },
    ["engine cycles.json"],
)

COMMAND = Command(
    "model",
    "what compression buys a network on a machine",
    "Evaluate the training of networks under policies of offloading. Each mode explains itself: cdma study model MODE "
    "--help. docs/study/model.md says what is measured, what is recorded and what is assumed.",
    commands=[
        *(
            step.STEP,
            step.TENSORS,
            step.TRACE,
            several.COMMAND,
            decode.COMMAND,
            measured.RESIDUALS,
            measured.PICTURES,
        ),
        *(_FIGURES, _NAMES, _TABLE, _MEASURE),
    ],
    title="modes",
)
