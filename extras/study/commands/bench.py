"""``cdma study bench``: formats on recorded tensors, words, what ``--queue`` costs, and trainings with
errors in what autograd keeps."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Command, option
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.format import Format
from cdma.result import Columns, Result, Row, column, rows_result


def _formats(arguments: argparse.Namespace) -> Result:
    from cdma.output import step_progress
    from cdma.study.compare.comparison import load_data, rows

    for name in ("seed", "epochs"):
        if getattr(arguments, name) is not None and arguments.train is None:
            raise ParameterError(f"--{name} is given without --train, which it is for")
    if arguments.train is not None:
        _train_transformer(arguments)
    data = load_data(arguments.train or arguments.samples)
    found: list[Row] = []
    with step_progress("compressing", len(data)) as advance:
        for one in data:
            found += [asdict(row) for row in rows(one)]
            advance(what=one.name)
    codecs = _codecs(found)
    columns: Columns = {
        "data": lambda row: f"{row['name']} ({row['type']})",
        "density": column("density", ".2f"),
        **{codec: column(codec, ".2f") for codec in codecs},
    }
    table = _by_data(found, codecs)
    return rows_result(table, columns, 1, lambda row: row["name"].split(".")[0], data=found)


def _train_transformer(arguments: argparse.Namespace) -> None:
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


def _by_data(rows: Sequence[Row], codecs: Sequence[str]) -> list[Row]:
    """One row for each tensor, with the ratio by codec."""
    table: dict[tuple[str, str], Row] = {}
    for row in rows:
        name, kind = row["data"], row["number_type"]
        empty = {"name": name, "type": kind, "density": row["density"], **dict.fromkeys(codecs)}
        table.setdefault((name, kind), empty)[row["codec"]] = row["ratio"]
    return list(table.values())


_FORMATS = Command(
    "formats",
    "the ratio of every preset on weights, activations, gradients and optimiser state",
    "Show the ratio of every preset beside LZ4, zstd, a Huffman code of the exponent and its entropy, on bfloat16 tensors "
    "of a small transformer and on activations of ReLU networks, which come with cdma.",
    _formats,
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


def _lossy(arguments: argparse.Namespace) -> Result:
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
    return rows_result(table, _LOSSY_COLUMNS, 2, column("network"))


def _accuracy(row: Row) -> str:
    spread = row["accuracy_spread"]
    return f"{row['accuracy']:.2%}" + ("" if spread is None else f" ± {100 * spread:.2f}")


def _difference(row: Row) -> str:
    error = row["difference_error"]
    return f"{100 * row['difference']:+.2f}" + ("" if error is None else f" ± {100 * error:.2f}")


_LOSSY_COLUMNS: Columns = {
    "network": column("network"),
    "policy": column("policy"),
    "convolutions": column("ratio_conv", ".2f"),
    "all": column("ratio", ".2f"),
    "accuracy": _accuracy,
    "points": _difference,
}


_LOSSY = Command(
    "lossy",
    "accuracy and ratio of training with compressed activations, lossless and to bounds",
    "Train small networks while everything that autograd keeps is compressed with the bits of this hardware and given back "
    "in the backward pass: without loss, to a fixed bound, by COMET's rule and by AC-GC's. The networks are those of cdma "
    "study characterise and a transformer. Without options it is one seed and a short training, a few minutes; "
    "docs/study/training.md says how its numbers were made. Needs the extra torch.",
    _lossy,
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


#: Bits of a word and lanes: beats of 256 bits.
_SHAPES = ((32, 8), (16, 16), (8, 32))


def _queue(arguments: argparse.Namespace) -> Result:
    from cdma.output import status
    from cdma.study.compare.queue_rates import queue_rates

    rows: list[Row] = []
    with status() as say:
        for block, (word_bits, lanes) in itertools.product(BLOCKS, _SHAPES):
            for queue in (0, 1, 2) if block == "compressor" else (0, 2):
                config = CodecConfig(Format(word_bits), lanes, queue=queue)
                say(f"{block} {config.summary()}")
                row: Row = {"block": block, "word_bits": word_bits, "lanes": lanes, "queue": queue}
                row |= asdict(queue_rates(block, config, arguments.seed))
                if arguments.liberty:
                    row |= _area(block, config, arguments.liberty)
                rows.append(row)
    return rows_result(rows, _queue_columns(rows), 3, lambda row: (row["block"], _shape(row)))


def _area(block: str, config: CodecConfig, liberty: list[Path]) -> Row:
    """Area and period, plain and with gated clocks."""
    from cdma.synth.asic.library.liberty import load_libraries
    from cdma.synth.asic.measure import measure_block
    from cdma.synth.asic.recipe import Options

    library = load_libraries(liberty)
    options = Options(clock_gating=library.clock_gate is not None)
    measured = measure_block(block, config, library, options)
    return {
        "kge": measured.plain.kge,
        "kge_clock_gating": measured.gated and measured.gated.kge,
        "period_ns": measured.plain.period_ns,
    }


def _queue_columns(rows: Sequence[Row]) -> Columns:
    columns: dict[str, Any] = {
        "block": column("block"),
        "lanes x bits": _shape,
        "queue": column("queue"),
    }
    if "kge" in rows[0]:
        columns |= {
            "kGE": column("kge", ".2f"),
            "clock gating": column("kge_clock_gating", ".2f"),
            "period, ns": column("period_ns", ".3f"),
        }
    columns["activations"] = column("activations", ".2%")
    columns["least"] = column("least", ".1%")
    for density in rows[0]["random"]:
        columns[f"random {density}"] = lambda row, density=density: f"{row['random'][density]:.2%}"
    columns["worst"] = column("worst", ".1%")
    return columns


def _shape(row: Row) -> str:
    return f"{row['lanes']} x {row['word_bits']}"


_QUEUE = Command(
    "queue",
    "throughput and area of the codecs by --queue",
    "Compare codecs with --queue 0, 1 and 2 (decompressors with 0 and 1 are the same): the share of the full throughput "
    "that each keeps, on the recorded activations, on the tensor of them that suffers most, on random words and on the "
    "worst windows; and, with a library, area and period. The cycles are those of the model that the regression checks the "
    "hardware against.",
    _queue,
    {
        "": (
            option("--liberty FILE+", "measure area and period on this library", Path),
            option("--seed N", "of the random words", 1),
            ROWS,
        ),
    },
    [""],
)  # fmt: skip


_WORDS_COLUMNS: Columns = {
    "numbers": column("number_type"),
    "word bits": column("word_bits"),
    "window": column("window"),
    "code bits": column("code_bits"),
    "ratio": column("ratio", ".2f"),
    "bytes at density 0": column("base", ".3f"),
    "per density": column("slope", ".3f"),
    "at most off": column("error", ".3f"),
}


def _words(arguments: argparse.Namespace) -> Result:
    from cdma.study.compare.comparison import word_laws

    return rows_result(
        [asdict(law) for law in word_laws()],
        _WORDS_COLUMNS,
        1,
        lambda row: (row["number_type"], row["word_bits"]),
    )


_WORDS = Command(
    "words",
    "the ratio of activations by word, window and bits of a code",
    "Show what words, windows and codes of more bits do to the activations of ReLU networks that come with cdma, each with "
    "the table of frequent words that suits all of them: their ratio, and compressed bytes per raw byte as a line over the "
    "density. cdma study tune hardware searches with these lines.",
    _words,
    {
        "": (ROWS,),
    },
    ["", "--markdown"],
)  # fmt: skip


COMMAND = Command(
    "bench",
    "compare formats, words and queues on recorded activations",
    "Measure. Each bench explains itself: cdma study bench BENCH --help.",
    commands=[_QUEUE, _FORMATS, _WORDS, _LOSSY],
    title="benches",
)
