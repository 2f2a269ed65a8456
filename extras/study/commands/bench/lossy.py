"""``cdma study bench lossy``: what training makes of errors in what autograd keeps."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from cdma.command import ROWS, Command, option
from cdma.result import Columns, Result, Row, column, rows_result


def _run(arguments: argparse.Namespace) -> Result:
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
    return rows_result(table, _COLUMNS, 2, column("network"))


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


COMMAND = Command(
    "lossy",
    "accuracy and ratio of training with compressed activations, lossless and to bounds",
    "Train small networks while everything that autograd keeps is compressed with the bits of this hardware and given back "
    "in the backward pass: without loss, to a fixed bound, by COMET's rule and by AC-GC's. The networks are those of cdma "
    "study characterise and a transformer. Without options it is one seed and a short training, a few minutes; "
    "docs/study/training.md says how its numbers were made. Needs the extra torch.",
    _run,
    {
        "": (
            option("--seeds N", "trainings of each", 1),
            option("--epochs N", "passes over the images (default 3 with one seed, 8 with more)", int),
            option("--networks NAME+", "networks to train (default: all five)"),
            option("--resume FILE", "keep each training in FILE as it ends, and do not repeat those that FILE has", Path),
            ROWS,
        ),
    },
    ["--networks vgg", "--seeds 5 --resume trainings.jsonl"],
)  # fmt: skip
