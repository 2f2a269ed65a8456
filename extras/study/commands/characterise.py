"""``cdma study characterise``: densities of the activations of real networks, and the ratio of each codec on them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.document import Paragraph, Part, Table
from cdma.base.errors import ParameterError
from cdma.command import Command, Option, flag, option
from cdma.result import Result

if TYPE_CHECKING:
    from cdma.study.compare.comparison import Row, Summary
    from cdma.study.system.density_table import DensityTable
    from cdma.study.training.observations import Finding, Training


#: Options that say how to train.
_SCHEDULE = ("epochs", "batch", "probe", "points", "seed", "learning_rate")


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_directory
    from cdma.study.compare.comparison import summarise
    from cdma.study.system.density_table import load_densities
    from cdma.study.training.observations import RECORDS, figures, findings, load_ratios, over_training

    if arguments.train is not None and arguments.records is not None:
        raise ParameterError("--records and --train are given; records are either read or made")
    for name in ("networks", "weights", *_SCHEDULE):
        if getattr(arguments, name) is not None and arguments.train is None:
            raise ParameterError(f"--{name.replace('_', '-')} is given without --train, which it is for")
    for directory in (arguments.train, arguments.figures):
        if directory is not None:
            ready_directory(directory)
    if arguments.train is not None:
        _train(arguments)
    directory = arguments.train or arguments.records
    densities, ratios = (directory and directory / name for name in RECORDS)
    table, rows = load_densities(densities), load_ratios(ratios)
    if arguments.figures is not None:
        _write(arguments.figures, {name: svg.encode() for name, svg in figures(table, rows).items()})
    found, training, summaries = findings(table), over_training(table), summarise(rows)
    tables = list(_tables(found, training, summaries))
    markdown = [Paragraph(f"**{part}**") if isinstance(part, str) else part for part in tables]
    return Result(_as_json(table, found, training, summaries, rows), tables, document=markdown)


def _train(arguments: argparse.Namespace) -> None:
    from cdma.output import part_progress
    from cdma.study.training.observations import record
    from cdma.study.training.train import Schedule

    given = {name: value for name in _SCHEDULE if (value := getattr(arguments, name)) is not None}
    with part_progress() as progress:
        records = record(Schedule(**given), arguments.networks, progress, bool(arguments.weights))
    _write(arguments.train, records)


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    from cdma.files import making_directory, replacing

    with making_directory(directory):
        for name, data in files.items():
            with replacing(directory / name) as file:
                file.write(data)


def _tables(
    found: Sequence[Finding],
    training: Mapping[str, Mapping[str, Training]],
    summaries: Sequence[Summary],
) -> Iterator[Part | str]:
    """Each below its title."""
    observations = [
        [f"{one.observation}. {one.claim}", one.network, "yes" if one.holds else "no", one.evidence]
        for one in found
    ]
    over_time = [
        [network, *(f"{one.average:.2f}, {one.maximum:.1f}" for one in by_codec.values())]
        for network, by_codec in training.items()
    ]
    yield "Observations"
    yield Table(("observation", "network", "holds", "numbers"), observations)
    yield "Ratio over training, average and maximum, float32 NCHW"
    yield Table(["network", *next(iter(training.values()))], over_time)
    yield "Average ratio after training"
    yield _by_type(summaries, [one.average for one in summaries], ".2f")
    yield "Maximum ratio after training"
    yield _by_type(summaries, [one.maximum for one in summaries], ".1f")
    yield "Entropy bounds of the average"
    yield _by_type(summaries, [one.bound for one in summaries], ".2f")


def _by_type(summaries: Sequence[Summary], values: Sequence[Mapping[str, float]], form: str) -> Table:
    """One row for each number type and layout, with what ``values`` has for it."""
    rows = [
        [one.number_type, one.layout, *(format(number, form) for number in row.values())]
        for one, row in zip(summaries, values, strict=True)
    ]
    return Table(["type", "layout", *values[0]], rows)


def _as_json(
    table: DensityTable,
    found: Sequence[Finding],
    training: Mapping[str, Mapping[str, Training]],
    summaries: Sequence[Summary],
    rows: Sequence[Row],
) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "source": table.source,
        "observations": [asdict(one) for one in found],
        "over_training": [
            {"network": network, "codec": codec, "average": one.average, "maximum": one.maximum}
            for network, by_codec in training.items()
            for codec, one in by_codec.items()
        ],
        "after_training": [asdict(one) for one in summaries],
        "tensors": [asdict(row) for row in rows],
    }


COMMAND = Command(
    "characterise",
    "densities of activations of trained networks, and codecs on them",
    "Show densities of activations while small networks train, and the ratio of each codec on them, from the records that "
    "come with cdma or from networks that are trained now.",
    _run,
    {
        "": (
            option("--records DIR", "read the records in DIR, which --train wrote", Path),
            option("--train DIR", "train the networks, which takes minutes, and write the records into DIR (needs the extra "
                "torch)", Path),
            Option(["--weights"], {"action": "store_const", "const": True, "help": "with --train: write the trained "
                "weights, too, for cdma bench swap --weights DIR"}),
            option("--networks NAME+", "train only these"),
            option("--epochs N", "passes over the images (default 24)", int),
            option("--batch N", "images of a step (default 64)", int),
            option("--probe N", "images whose activations are shown (default 32)", int),
            option("--points N", "how often they are shown (default 21)", int),
            option("--seed N", "seed of the training (default 1)", int),
            option("--learning-rate R", "step size of AdamW at the beginning (default 0.002)", float),
            option("--figures DIR", "draw the figures into DIR, as SVG", Path),
            (
                flag("--json", "print everything as JSON, with a row for each tensor"),
                flag("--markdown", "print the tables in Markdown"),
            ),
        ),
    },
    ["", "--figures figures"],
)  # fmt: skip
