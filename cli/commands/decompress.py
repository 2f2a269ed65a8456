"""``cdma decompress``: a ``.cdma`` file back into the file it was made from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from cdma.sim.codec.container import Container

from cdma.command import Command, flag, option
from cdma.result import Result


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import opened, timing
    from cdma.sim.codec.container import VERSION, BadFile, container_from, read_description

    with opened(arguments.input) as source:
        try:
            version, description = read_description(source)
            if version == VERSION:
                summary, what = _one(arguments, source, container_from(description))
            else:
                summary, what = _several(arguments, source, description)
        except BadFile as error:
            raise BadFile(f"cannot decompress {arguments.input}: {error}") from None
    return Result(summary, [f"{arguments.output}: {what}, {timing(summary)}"])


def _one(arguments: argparse.Namespace, source: BinaryIO, container: Container) -> tuple[dict[str, Any], str]:
    """Restores a ``.npy`` file; returns what was done, for scripts and for people."""
    from cdma.files import FileTime
    from cdma.output import byte_progress
    from cdma.sim.codec.container import unpack_file
    from cdma.sim.codec.files import write_npy_header

    files = FileTime()
    tensor = container.tensor
    with (
        files.replacing(arguments.output, arguments.input) as target,
        byte_progress("decompressing", tensor.nbytes) as progress,
    ):
        write_npy_header(target, tensor)
        unpack_file(files.of(source), container, target, progress)
    summary = {"shape": tensor.shape, "dtype": tensor.dtype.str, "raw_bytes": tensor.nbytes}
    return summary | files.so_far(), f"{tensor.dtype} of shape {tensor.shape}, {tensor.nbytes:,} bytes"


def _several(arguments: argparse.Namespace, source: BinaryIO, description: Any) -> tuple[dict[str, Any], str]:
    """Restores a safetensors file; returns what was done, for scripts and for people."""
    from cdma.files import FileTime
    from cdma.output import byte_progress
    from cdma.sim.codec.bundle import bundle_from, unpack_bundle

    files = FileTime()
    bundle = bundle_from(description)
    with (
        files.replacing(arguments.output, arguments.input) as target,
        byte_progress("decompressing", bundle.data_bytes) as progress,
    ):
        unpack_bundle(files.of(source), bundle, target, progress)
    summary = {"tensors": bundle.tensors, "raw_bytes": bundle.data_bytes}
    return summary | files.so_far(), f"{bundle.tensors} tensors, {bundle.data_bytes:,} bytes"


COMMAND = Command(
    "decompress",
    "decompress a .cdma file",
    "Decompress a file that `cdma compress` wrote; every checksum in it is verified.",
    _run,
    {
        "": (
            option("input", "a .cdma file", Path),
            option("output", "the .npy or .safetensors file to write, as it was compressed from", Path),
            flag("--json", "print what was done as JSON"),
        ),
    },
    ["activations.cdma activations.npy"],
)  # fmt: skip
