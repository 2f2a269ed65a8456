"""``cdma bench software``: the codec in software, numpy and kernels in C, beside zlib, LZ4, zstd and blosc2."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.base.install import install_command
from cdma.hdl.spec.stream_format import StreamFormat
from cdma.options import add_format_options, format_from

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cdma.sim.study.compare.software_bench import Row

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "software",
        help="the software codec beside zlib, LZ4, zstd and blosc2",
        description="Measure the software codec beside others, on one thread: ratio, GB/s of processor time.",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--density",
        type=float,
        nargs="+",
        default=[0.45],
        metavar="D",
        help="fractions of words that are not zero in the activations to make (default 0.45)",
    )
    source.add_argument("--input", type=Path, metavar="FILE", help="a .npy file to use instead")
    parser.add_argument("--size", type=float, default=35, metavar="MB", help="their size (default 35)")
    parser.add_argument("--seed", type=int, default=0, help="their seed (default 0)")
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        metavar="N",
        help="the best of N rounds counts; timings of each size and density with --times (default 5)",
    )
    add_format_options(parser)
    parser.add_argument(
        "--times",
        type=Path,
        metavar="FILE",
        help="write the times of the kernels in C by size and density, from which cdma model learns, to a .json file",
    )
    parser.add_argument(
        "--calls",
        type=int,
        default=5,
        metavar="N",
        help="calls of which a timing of --times is the shortest (default 5)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the rows, or the errors of --times, as JSON"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import new_table, output
    from cdma.sim.codec.model import analyse

    for name in ("rounds", "calls"):
        if (value := getattr(arguments, name)) < 1:
            raise ParameterError(f"{name} is {value}; at least one is needed")
    if arguments.times is not None:
        return _times(arguments)
    report: dict[str, Any] = {"benches": [], "missing": []}
    for what, tensor, format in _tensors(arguments):
        density = analyse(tensor, format).density
        rows, report["missing"] = _measured(what, tensor, format, arguments.rounds)
        report["benches"].append(
            {"data": what, "bytes": tensor.nbytes, "density": density, "format": asdict(format)}
            | {"rows": [asdict(row) for row in rows]}
        )
        if not arguments.json:
            print(f"{what}: {tensor.nbytes / 1e6:.1f} MB of {tensor.dtype}, density {density:.2f}")
            table = new_table("codec", "ratio", "compress GB/s", "decompress GB/s")
            for row in rows:
                speeds = (row.compress_bytes_per_second, row.decompress_bytes_per_second)
                table.add_row(row.codec, f"{row.ratio:.2f}", *(f"{speed / 1e9:.2f}" for speed in speeds))
            output().print(table)
    if arguments.json:
        print(json.dumps(report, indent=2))
    elif report["missing"]:
        print(f"not installed, so not measured: {', '.join(report['missing'])} ({install_command('bench')})")
    return 0


def _times(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_file, replacing
    from cdma.output import new_table, output, step_progress
    from cdma.sim.study.compare.software_times import DENSITIES, SIZES, kernels_name, software_times
    from cdma.sim.study.system.kernel_law_error import held_out_errors
    from cdma.sim.study.system.kernel_timings import timings_of

    path, rounds, calls = arguments.times, arguments.rounds, arguments.calls
    ready_file(path, (".json",))
    rows = []
    with step_progress("timing the kernels", len(SIZES) * len(DENSITIES) * rounds) as advance:
        for timing in software_times(rounds=rounds, calls=calls):
            rows.append({key: float(f"{value:.5g}") for key, value in asdict(timing).items()})
            advance()
    rows.sort(key=lambda row: (row["density"], row["bytes"]))
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    source = json.dumps(f"cdma bench software --times {path.name} --rounds {rounds} --calls {calls}")
    text = f'{{\n "source": {source},\n "kernels": "{kernels_name()}",\n "rows": [\n  {lines}\n ]\n}}\n'
    with replacing(path) as file:
        file.write(text.encode())
    errors = held_out_errors(timings_of(rows))
    if arguments.json:
        report = {direction: asdict(error) for direction, error in errors.items()}
        print(json.dumps({"kernels": kernels_name(), "timings": len(rows), "errors": report}, indent=2))
        return 0
    table = new_table("", "single timings", "medians", "noise", "linear law")
    for direction, error in errors.items():
        shown = (error.single, error.median, error.noise, error.linear)
        table.add_row(direction, *(f"{value:.1%}" for value in shown))
    print(
        "Mean errors of the regression where it has not learnt, on single timings and on medians of a size and density."
    )
    print(
        "Noise is of such medians on their own timings; a linear law has the last column, on single timings."
    )
    output().print(table)
    return 0


def _tensors(arguments: argparse.Namespace) -> Any:
    """What to measure on: a name, a tensor and the format for it."""

    from cdma.files import opened
    from cdma.sim.codec.npy import NotATensor, read_npy
    from cdma.sim.codec.stimuli import activations

    if arguments.input is not None:
        with opened(arguments.input) as file:
            try:
                data = read_npy(file)
            except NotATensor as error:
                raise NotATensor(f"cannot measure on {arguments.input}: {error}") from None
        item_bits = data.dtype.itemsize * 8
        word_bits = next(bits for bits in (32, 16, 8) if item_bits % bits == 0)
        yield (
            arguments.input.name,
            data,
            format_from(arguments, word_bits=word_bits),
        )
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
    from cdma.sim.study.compare.software_bench import codecs, measure

    contenders, missing = codecs(tensor, format)
    best: list[Row] = []
    with step_progress(what, rounds) as advance:
        for rows in measure(tensor, contenders, rounds):
            best = rows
            advance()
    return best, missing
