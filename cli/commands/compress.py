"""``cdma compress``: a ``.npy`` file into a ``.cdma`` file."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cdma.hdl.spec.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stream_format import StreamFormat
from cdma.options import add_format_options, format_from

if TYPE_CHECKING:
    from cdma.sim.support.npy import Tensor

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
    parser.add_argument("--fit", action="store_true", help="learn the frequent values from the tensor")
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
            if arguments.fit:
                format = _fitted(arguments, source, tensor, format)
            with (
                replacing(arguments.output, arguments.input) as target,
                byte_progress("compressing", tensor.nbytes) as progress,
            ):
                written = pack_file(source, tensor, target, format, progress)
        except NotATensor as error:
            raise NotATensor(f"cannot compress {arguments.input}: {error}") from None
    read = tensor.nbytes
    if arguments.json:
        summary: dict[str, Any] = {"raw_bytes": read, "file_bytes": written, "word_bits": format.word_bits}
        if arguments.fit:
            summary |= {"values": list(format.values)}
        print(json.dumps(summary))
    else:
        ratio = f", ratio {read / written:.2f}" if read else ""
        print(f"{arguments.output}: {read:,} bytes of {tensor.dtype} as {written:,} bytes{ratio}")
    return 0


def _fitted(
    arguments: argparse.Namespace, source: BinaryIO, tensor: Tensor, format: StreamFormat
) -> StreamFormat:
    """The format with a table for the tensor, whose data begin where the file has been read to."""
    import numpy as np

    from cdma.sim.codec.fit import fit, sampled

    if arguments.values is not None:
        raise ParameterError("--fit learns the frequent values and --values gives them; take one of the two")
    if not isinstance(format, Format):
        raise ParameterError(f"--fit learns frequent values; the codec {format.codec} has none")
    if not source.seekable():
        raise ParameterError(f"{arguments.input} can be read only once; --fit needs a file")
    begin, size = source.tell(), source.seek(0, os.SEEK_END)
    if tensor.nbytes and size >= begin + tensor.nbytes:
        data = np.memmap(source, tensor.dtype, "r", begin, (tensor.nbytes // tensor.dtype.itemsize,))
        format = fit(sampled(data), format)
    # Else there is nothing to learn from, and what is wrong with the file is said where it is compressed.
    source.seek(begin)
    return format


def _word_bits_for(item_bytes: int) -> int:
    """The largest word that elements are a whole number of."""
    return next(bits for bits in (32, 16, 8) if item_bytes * 8 % bits == 0)
