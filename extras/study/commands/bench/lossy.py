"""``cdma study bench lossy``: what training makes of errors in what autograd keeps."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cdma.rows import Columns, Row, add_row_options, column, show_rows

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "lossy",
        help="accuracy and ratio of training with compressed activations, lossless and to bounds",
        description="Train small networks while everything that autograd keeps is compressed with the bits of this "
        "hardware and given back in the backward pass: without loss, to a fixed bound, by COMET's rule and by AC-GC's. "
        "The networks are those of cdma study characterise and a transformer. Without options it is one seed and a short "
        "training, a few minutes; docs/study/training.md says how its numbers were made. Needs the extra torch.",
    )
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="trainings of each (default 1)")
    parser.add_argument(
        "--epochs",
        type=int,
        metavar="N",
        help="passes over the images (default 3 with one seed, 8 with more)",
    )
    parser.add_argument("--networks", nargs="+", metavar="NAME", help="networks to train (default: all five)")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="keep each training in FILE as it ends, and do not repeat those that FILE has",
    )
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.study.training.lossy import ALL, EPOCHS, POLICIES, Training, rows, trainings

    networks = tuple(dict.fromkeys(arguments.networks or ALL))
    epochs = arguments.epochs if arguments.epochs is not None else EPOCHS if arguments.seeds > 1 else 3
    found: list[Training] = []
    with step_progress("training", len(networks) * len(POLICIES) * max(0, arguments.seeds)) as advance:
        for one in trainings(networks, arguments.seeds, epochs, arguments.resume):
            found.append(one)
            advance(what=f"{one.network}, {one.policy}, seed {one.seed}")
    table = [asdict(row) for row in rows(found)]
    show_rows(arguments, table, columns=_COLUMNS, texts=2, group=column("network"))
    return 0


def _accuracy(row: Row) -> str:
    spread = row["accuracy_spread"]
    return f"{row['accuracy']:.2%}" + ("" if spread is None else f" ± {100 * spread:.2f}")


def _difference(row: Row) -> str:
    error = row["difference_error"]
    return f"{100 * row['difference']:+.2f}" + ("" if error is None else f" ± {100 * error:.2f}")


_COLUMNS: Columns = {
    "network": column("network"),
    "policy": column("policy"),
    "convolutions": column("ratio_conv", ".2f"),
    "all": column("ratio", ".2f"),
    "accuracy": _accuracy,
    "points": _difference,
}
