"""``cdma bench software``: the codec in software, numpy and kernels in C, beside zlib, LZ4, zstd and blosc2."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError, install_command
from cdma.command import Command, flag, option
from cdma.hdl.spec.format import StreamFormat
from cdma.options import format_from, format_options, word_bits_for
from cdma.result import Result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cdma.sim.codec.software_bench import Row


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.sim.codec.model import analyse

    if arguments.rounds < 1:
        raise ParameterError(f"rounds is {arguments.rounds}; at least one is needed")
    report: dict[str, Any] = {"benches": [], "missing": []}
    parts: list[Part | str] = []
    for what, tensor, format in _tensors(arguments):
        density = analyse(tensor, format).density
        rows, report["missing"] = _measured(what, tensor, format, arguments.rounds)
        report["benches"].append(
            {"data": what, "bytes": tensor.nbytes, "density": density, "format": asdict(format)}
            | {"rows": [asdict(row) for row in rows]}
        )
        parts.append(f"{what}: {tensor.nbytes / 1e6:.1f} MB of {tensor.dtype}, density {density:.2f}")
        cells = [
            (
                row.codec,
                f"{row.ratio:.2f}",
                *(
                    f"{speed / 1e9:.2f}"
                    for speed in (row.compress_bytes_per_second, row.decompress_bytes_per_second)
                ),
            )
            for row in rows
        ]
        parts.append(Table(("codec", "ratio", "compress GB/s", "decompress GB/s"), cells, (1, 2, 3)))
    if report["missing"]:
        missing = ", ".join(report["missing"])
        parts.append(f"not installed, so not measured: {missing} ({install_command('bench')})")
    return Result(report, parts)


def _tensors(arguments: argparse.Namespace) -> Any:
    """What to measure on: a name, a tensor and the format for it."""

    from cdma.files import opened
    from cdma.sim.codec.files import NotATensor, read_npy
    from cdma.sim.codec.stimuli import activations

    if arguments.input is not None:
        with opened(arguments.input) as file:
            try:
                data = read_npy(file)
            except NotATensor as error:
                raise NotATensor(f"cannot measure on {arguments.input}: {error}") from None
        form = format_from(arguments, word_bits=word_bits_for(data.dtype.itemsize))
        yield arguments.input.name, data, form
        return
    format = format_from(arguments)
    if not 0 < arguments.size <= 10_000:
        raise ParameterError(f"size is {arguments.size} MB; it must be above 0 and at most 10000")
    numbers = max(1, int(arguments.size * 1e6 * 8 / format.word_bits))
    for density in arguments.density:
        tensor = _in_words(activations(numbers, density, arguments.seed).reshape(-1)[:numbers], format)
        yield f"activations of density {density:g}, seed {arguments.seed}", tensor, format


def _in_words(tensor: NDArray[np.float32], format: StreamFormat) -> NDArray[Any]:
    """The activations in the type that has one word per element: float32, bf16 or float16, or quantised to 8 bits."""
    import numpy as np

    from cdma.hdl.spec.format import Format
    from cdma.sim.codec.number_types import bfloat16_bits

    if format.word_bits == 32:
        return tensor
    if format.word_bits == 16 and isinstance(format, Format) and format.field_bits == 8:
        # The exponent of a bf16 is the field.
        return bfloat16_bits(tensor)
    if format.word_bits == 16:
        return tensor.astype(np.float16)
    # Rounded up, so that what is not 0 stays so.
    return np.ceil(tensor * (255 / max(float(tensor.max()), 1e-30))).astype(np.uint8)


def _measured(
    what: str, tensor: NDArray[Any], format: StreamFormat, rounds: int
) -> tuple[list[Row], list[str]]:
    from cdma.output import step_progress
    from cdma.sim.codec.software_bench import codecs, measure

    contenders, missing = codecs(tensor, format)
    best: list[Row] = []
    with step_progress(what, rounds) as advance:
        for rows in measure(tensor, contenders, rounds):
            best = rows
            advance()
    return best, missing


COMMAND = Command(
    "software",
    "the software codec beside zlib, LZ4, zstd and blosc2",
    "Measure the software codec beside others, on one thread: ratio, GB/s of processor time.",
    _run,
    {
        "": (
            (
                option("--density D+", "fractions of words that are not zero in the activations to make", [0.45]),
                option("--input FILE", "a .npy file to use instead", Path),
            ),
            option("--size MB", "their size", 35.0),
            option("--seed", "their seed", 0),
            option("--rounds N", "the best of N rounds counts", 5),
        ),
        **format_options(),
        " ": (flag("--json", "print the rows as JSON"),),
    },
    ["", "--input activations.npy"],
)  # fmt: skip
