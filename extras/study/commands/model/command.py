"""``cdma study model``: what compression buys a network on a machine, and the papers' figures; each mode is a command."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.command import Command, Option, option
from cdma.result import Result

from .modes import ASSUMPTIONS, RESIDUALS, SEVERAL, STEP, TENSORS, densities_named

if TYPE_CHECKING:
    from cdma.hdl.spec.engine import EngineConfig


def _figures(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_directory, write_folder
    from cdma.output import status
    from cdma.study.real.record import recorded, recorded_names
    from cdma.study.system.density_table import load_densities
    from cdma.study.system.figures import model_files
    from cdma.study.system.headlines import bands, load_ranges
    from cdma.study.system.machine import load_assumptions
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
    from cdma.study.system.density_table import bundled_densities
    from cdma.study.system.feature_maps import ALGORITHMS
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
    from cdma.study.system.machine import default_assumptions_path

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
            text = _measured_units(say) if arguments.what == "units" else _measured_engine(say)
    write_text(arguments.file.parent, arguments.file.name, text)
    return Result(None)


#: Bytes of a tensor, how many of them, the memories' latency, density.
_LOADS = (
    (4096, 1, 10, 0.5),
    (4096, 16, 300, 0.5),
    (16384, 1, 100, 0.25),
    (65536, 1, 10, 0.5),
    (65536, 1, 300, 1.0),
)


def _measured_engine(say: Callable[[str], None]) -> str:
    """The text of ``extras/study/data/engine_cycles.json``: cycles of codec and engine, counted under Verilator."""
    from cdma.hdl.spec.engine import EngineConfig
    from cdma.verif.stream.codec.measure import measure_codec, standard_designs

    codec = []
    for design in standard_designs():
        say(str(design))
        codec += measure_codec(design)
    cases = [
        {
            "direction": direction,
            "mode": "zvc",
            "density": density,
            "bytes": size,
            "descriptors": count,
            "memory_latency": latency,
        }
        for size, count, latency, density in _LOADS
        for direction in ("offload", "prefetch")
    ]
    say("the engine")
    return _as_text("engine", "engine_cycles", codec=codec, engine=engine_rows(EngineConfig(), cases))


def _measured_units(say: Callable[[str], None]) -> str:
    """The text of ``extras/study/data/unit_cycles.json``: the rows of ``cdma bench units``."""
    from cdma.hdl.spec.engine import EngineConfig
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.engine.measure import UNITS, measure_engine, unit_cases, unit_row

    rows = []
    for units in UNITS:
        say(f"{units} units")
        config = EngineConfig(units=units)
        rows += [unit_row(config, row) for row in measure_engine(EngineDesign(config), unit_cases(config))]
    return _as_text("units", "unit_cycles", units=rows)


def engine_rows(config: EngineConfig, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that :func:`cdma.study.system.engine_rate.fit_engine` reads."""
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.engine.measure import measure_engine

    shape = {
        "word_bits": config.format.word_bits,
        "port_bytes": min(config.dev_data_bits, config.host_data_bits) // 8,
    }
    return [shape | row for row in measure_engine(EngineDesign(config), cases)]


def _as_text(what: str, file: str, **tables: list[dict[str, Any]]) -> str:
    """A row on a line, and the command that counts anew."""
    parts = [f' "command": "cdma study model measure {what} extras/study/data/{file}.json"']
    for name, rows in tables.items():
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        parts.append(f' "{name}": [\n{lines}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


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
    commands=[STEP, TENSORS, SEVERAL, RESIDUALS, _FIGURES, _NAMES, _TABLE, _MEASURE],
    title="modes",
)
