"""``cdma compress``: a ``.npy`` or ``.safetensors`` file into a ``.cdma`` file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.options import format_from, format_options, settings_given, word_bits_for
from cdma.result import Result

if TYPE_CHECKING:
    import numpy as np


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import opened, timing
    from cdma.sim.codec.files import NotATensor

    if arguments.best and (arguments.fit or settings_given(arguments)):
        raise ParameterError("--best chooses the format, so it takes no --fit and no parameters of a format")
    pack = _pack_several if arguments.input.suffix == ".safetensors" else _pack_one
    with opened(arguments.input) as source:
        try:
            summary, what = pack(arguments, source)
        except NotATensor as error:
            raise NotATensor(f"cannot compress {arguments.input}: {error}") from None
    read, written = summary["raw_bytes"], summary["file_bytes"]
    ratio = f", ratio {read / written:.2f}" if read else ""
    said = f"{arguments.output}: {read:,} bytes of {what} as {written:,} bytes{ratio}, {timing(summary)}"
    return Result(summary, [said])


def _pack_one(arguments: argparse.Namespace, source: BinaryIO) -> tuple[dict[str, Any], str]:
    """Compresses a ``.npy`` file; returns what was done, and what it holds."""
    from cdma.files import FileTime
    from cdma.output import byte_progress
    from cdma.sim.codec.container import pack_file
    from cdma.sim.codec.files import read_npy_header

    files = FileTime()
    tensor = read_npy_header(source)
    format = _format_for(arguments, source, tensor.dtype, tensor.nbytes, str(tensor.dtype))
    with (
        files.replacing(arguments.output, arguments.input) as target,
        byte_progress("compressing", tensor.nbytes) as progress,
    ):
        written = pack_file(files.of(source), tensor, target, format, progress)
    summary = {"raw_bytes": tensor.nbytes, "file_bytes": written, **_described(arguments, format)}
    return summary | files.so_far(), str(tensor.dtype)


def _pack_several(arguments: argparse.Namespace, source: BinaryIO) -> tuple[dict[str, Any], str]:
    """Compresses a ``.safetensors`` file; returns what was done, and what it holds."""
    from cdma.files import FileTime
    from cdma.output import byte_progress
    from cdma.sim.codec.bundle import data_order, pack_bundle
    from cdma.sim.codec.files import Part, read_safetensors

    files = FileTime()
    size = os.fstat(source.fileno()).st_size
    described = read_safetensors(source, size)
    raw = size - len(described.head)
    data_order(described, size)
    tensors: list[dict[str, Any]] = []

    def format_of(part: Part) -> StreamFormat:
        format = _format_for(arguments, source, part.dtype, part.end - part.begin, part.type_name)
        tensors.append({"name": part.name, **_described(arguments, format)})
        return format

    with (
        files.replacing(arguments.output, arguments.input) as target,
        byte_progress("compressing", raw) as progress,
    ):
        written = pack_bundle(files.of(source), described, size, target, format_of, progress)
    summary = {"raw_bytes": raw, "file_bytes": written, "tensors": tensors}
    return summary | files.so_far(), f"{len(tensors)} tensors"


def _described(arguments: argparse.Namespace, format: StreamFormat) -> dict[str, Any]:
    """What a script wants to know of the format of a tensor: more where the tensor decided."""
    if arguments.best:
        return format.settings()
    values = {"values": list(format.values)} if arguments.fit and isinstance(format, Format) else {}
    return {"word_bits": format.word_bits, **values}


def _format_for(
    arguments: argparse.Namespace, source: BinaryIO, dtype: np.dtype[Any], size: int, type_name: str
) -> StreamFormat:
    """The format for a tensor whose ``size`` bytes of data begin where the file has been read to."""
    import numpy as np

    from cdma.sim.codec.fit import fit, profile, sampled

    format = format_from(arguments, word_bits=word_bits_for(dtype.itemsize))
    if not arguments.fit and not arguments.best:
        return format
    if arguments.fit:
        _check_fit(arguments, format)
    if not source.seekable():
        raise ParameterError(
            f"{arguments.input} can be read only once; --{'fit' if arguments.fit else 'best'} needs a file"
        )
    begin, end = source.tell(), source.seek(0, os.SEEK_END)
    if size and end >= begin + size:
        data = sampled(np.memmap(source, dtype, "r", begin, (size // dtype.itemsize,)))
        if isinstance(format, Format):
            format = fit(data, format) if arguments.fit else profile("", data, type_name).best.format
    # Else there is nothing to learn from, and what is wrong with the file is said where it is compressed.
    source.seek(begin)
    return format


def _check_fit(arguments: argparse.Namespace, format: StreamFormat) -> None:
    if arguments.values is not None:
        raise ParameterError("--fit learns the frequent values and --values gives them; take one of the two")
    if not isinstance(format, Format):
        raise ParameterError(f"--fit learns frequent values; the codec {format.codec} has none")


COMMAND = Command(
    "compress",
    "compress a .npy or .safetensors file",
    "Compress the tensor of a .npy file, or all tensors of a .safetensors file, of any size into a file that says all about "
    "itself.",
    _run,
    {
        **format_options(),
        "": (
            option("input", "a .npy file of integers, floating-point or complex numbers, or a .safetensors file", Path),
            option("output", "the .cdma file to write", Path),
            flag("--fit", "learn the frequent values from each tensor"),
            flag("--best", "take for each tensor the format that cdma study profile names"),
            flag("--json", "print what was done as JSON"),
        ),
    },
    ["activations.npy activations.cdma", "model.safetensors model.cdma --best", "a.npy a.cdma --fit"],
)  # fmt: skip
