"""``cdma study bench formats``: the ratio of every preset, of LZ4 and zstd, and bounds, on recorded tensors of networks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError
from cdma.rows import Columns, Row, add_row_options, column, show_rows

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "formats",
        help="the ratio of every preset on weights, activations, gradients and optimiser state",
        description="Show the ratio of every preset beside LZ4, zstd, a Huffman code of the exponent and its entropy, on "
        "bfloat16 tensors of a small transformer and on activations of ReLU networks, which come with cdma.",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--train",
        type=Path,
        metavar="FILE",
        help="train the transformer anew, which takes minutes, and write its samples to FILE (needs the extra torch)",
    )
    source.add_argument("--samples", type=Path, metavar="FILE", help="take the samples that --train wrote")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the training (default 1)")
    parser.add_argument("--epochs", type=int, metavar="N", help="passes over the images (default 12)")
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.study.compare.format_bench import load_data, rows

    for option in ("seed", "epochs"):
        if getattr(arguments, option) is not None and arguments.train is None:
            raise ParameterError(f"--{option} is given without --train, which it is for")
    if arguments.train is not None:
        _train(arguments)
    data = load_data(arguments.train or arguments.samples)
    found: list[Row] = []
    with step_progress("compressing", len(data)) as advance:
        for one in data:
            found += [asdict(row) for row in rows(one)]
            advance(what=one.name)
    if arguments.json:
        print(json.dumps(found, indent=2))
        return 0
    columns = _columns(found)
    show_rows(
        arguments, _by_data(found), columns=columns, texts=1, group=lambda row: row["name"].split(".")[0]
    )
    return 0


def _train(arguments: argparse.Namespace) -> None:
    from cdma.files import replacing
    from cdma.output import part_progress
    from cdma.study.training.archive import archive
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
