"""``cdma compress``: a ``.npy`` file into a ``.cdma`` file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from cdma.options import add_format_options, format_from

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "compress",
        help="compress a .npy file",
        description="Compress the tensor of a .npy file of any size into a file that says all about itself.",
    )
    parser.add_argument("input", type=Path, help="a .npy file of integers or floating-point numbers")
    parser.add_argument("output", type=Path, help="the .cdma file to write")
    add_format_options(parser)
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import opened, replacing
    from cdma.output import byte_progress
    from cdma.sim.codec.container import pack_file
    from cdma.sim.support.npy import NotATensor, read_npy_header

    with opened(arguments.input) as source:
        try:
            tensor = read_npy_header(source)
            format = format_from(arguments, word_bits=_word_bits_for(tensor.dtype.itemsize))
            with (
                replacing(arguments.output, arguments.input) as target,
                byte_progress("compressing", tensor.nbytes) as progress,
            ):
                written = pack_file(source, tensor, target, format, progress)
        except NotATensor as error:
            raise NotATensor(f"cannot compress {arguments.input}: {error}") from None
    read = tensor.nbytes
    if arguments.json:
        summary = {"raw_bytes": read, "file_bytes": written, "word_bits": format.word_bits}
        print(json.dumps(summary))
    else:
        ratio = f", ratio {read / written:.2f}" if read else ""
        print(f"{arguments.output}: {read:,} bytes of {tensor.dtype} as {written:,} bytes{ratio}")
    return 0


def _word_bits_for(item_bytes: int) -> int:
    """The largest word that elements are a whole number of."""
    return next(bits for bits in (32, 16, 8) if item_bytes * 8 % bits == 0)
