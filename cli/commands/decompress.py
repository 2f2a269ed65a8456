"""``cdma decompress``: a ``.cdma`` file back into the file it was made from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from cdma.sim.codec.container import Container

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "decompress",
        help="decompress a .cdma file",
        description="Decompress a file that `cdma compress` wrote; every checksum in it is verified.",
    )
    parser.add_argument("input", type=Path, help="a .cdma file")
    parser.add_argument(
        "output", type=Path, help="the .npy or .safetensors file to write, as it was compressed from"
    )
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import opened
    from cdma.rows import timing
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
    print(json.dumps(summary) if arguments.json else f"{arguments.output}: {what}, {timing(summary)}")
    return 0


def _one(arguments: argparse.Namespace, source: BinaryIO, container: Container) -> tuple[dict[str, Any], str]:
    """Restores a ``.npy`` file; returns what was done, for scripts and for people."""
    from cdma.output import byte_progress
    from cdma.rows import FileTime
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
    from cdma.output import byte_progress
    from cdma.rows import FileTime
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
