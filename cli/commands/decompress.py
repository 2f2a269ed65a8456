"""``cdma decompress``: a ``.cdma`` file back into the ``.npy`` file it was made from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "decompress",
        help="decompress a .cdma file",
        description="Decompress a file that `cdma compress` wrote; every checksum in it is verified.",
    )
    parser.add_argument("input", type=Path, help="a .cdma file")
    parser.add_argument("output", type=Path, help="the .npy file to write")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import opened, replacing
    from cdma.output import byte_progress
    from cdma.sim.codec.container import BadFile, read_header, unpack_file
    from cdma.sim.support.npy import write_npy_header

    with opened(arguments.input) as source:
        try:
            container = read_header(source)
            tensor = container.tensor
            with (
                replacing(arguments.output, arguments.input) as target,
                byte_progress("decompressing", tensor.nbytes) as progress,
            ):
                write_npy_header(target, tensor)
                unpack_file(source, container, target, progress)
        except BadFile as error:
            raise BadFile(f"cannot decompress {arguments.input}: {error}") from None
    if arguments.json:
        print(json.dumps({"shape": tensor.shape, "dtype": tensor.dtype.str, "raw_bytes": tensor.nbytes}))
    else:
        print(f"{arguments.output}: {tensor.dtype} of shape {tensor.shape}, {tensor.nbytes:,} bytes")
    return 0
