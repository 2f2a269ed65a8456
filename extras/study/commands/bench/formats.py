"""``cdma study bench formats``: the ratio of every preset, of LZ4 and zstd, and bounds, on recorded tensors of networks."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Command, option
from cdma.result import Columns, Result, Row, column, rows_result


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.output import step_progress
    from cdma.study.compare.format_bench import load_data, rows

    for name in ("seed", "epochs"):
        if getattr(arguments, name) is not None and arguments.train is None:
            raise ParameterError(f"--{name} is given without --train, which it is for")
    if arguments.train is not None:
        _train(arguments)
    data = load_data(arguments.train or arguments.samples)
    found: list[Row] = []
    with step_progress("compressing", len(data)) as advance:
        for one in data:
            found += [asdict(row) for row in rows(one)]
            advance(what=one.name)
    return rows_result(_by_data(found), _columns(found), 1, lambda row: row["name"].split(".")[0], data=found)


def _train(arguments: argparse.Namespace) -> None:
    from cdma.files import replacing
    from cdma.output import part_progress
    from cdma.study.recorded import archive
    from cdma.study.training.transformer import train_transformer

    given = {name: getattr(arguments, name) for name in ("seed", "epochs")}
    with part_progress() as progress:
        trained = train_transformer(
            **{name: value for name, value in given.items() if value is not None},
            progress=lambda part: progress("training the transformer", part),
        )
    with replacing(arguments.train) as file:
        file.write(archive(trained.samples))


def _codecs(rows: Sequence[Row]) -> list[str]:
    """The codecs in the order of the tensor that has most of them: bounds come last."""
    by_tensor: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        by_tensor.setdefault((row["data"], row["number_type"]), []).append(row["codec"])
    return max(by_tensor.values(), key=len)


def _by_data(rows: Sequence[Row]) -> list[Row]:
    """One row for each tensor, with the ratio by codec."""
    table: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row["data"], row["number_type"]
        entry = table.setdefault(
            key, {"name": row["data"], "type": row["number_type"], "density": row["density"]}
        )
        entry[row["codec"]] = row["ratio"]
    return list(table.values())


def _name(row: Row) -> str:
    return f"{row['name']} ({row['type']})"


def _cell(codec: str) -> Callable[[Row], str]:
    return lambda row: f"{row[codec]:.2f}" if codec in row else ""


def _columns(rows: Sequence[Row]) -> Columns:
    return {"data": _name, "density": column("density", ".2f")} | {
        codec: _cell(codec) for codec in _codecs(rows)
    }


COMMAND = Command(
    "formats",
    "the ratio of every preset on weights, activations, gradients and optimiser state",
    "Show the ratio of every preset beside LZ4, zstd, a Huffman code of the exponent and its entropy, on bfloat16 tensors "
    "of a small transformer and on activations of ReLU networks, which come with cdma.",
    _run,
    {
        "": (
            (
                option("--train FILE", "train the transformer anew, which takes minutes, and write its samples to FILE "
                    "(needs the extra torch)", Path),
                option("--samples FILE", "take the samples that --train wrote", Path),
            ),
            option("--seed N", "seed of the training (default 1)", int),
            option("--epochs N", "passes over the images (default 12)", int),
            ROWS,
        ),
    },
    [""],
)  # fmt: skip
