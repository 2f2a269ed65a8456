"""``cdma wave``: waveforms that explain a block: short runs of a codec or of the engine."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from cdma.options import ENGINE, add_block_options

__all__ = ["register"]

#: The kinds of files that a waveform can be written as.
_KINDS = ("vcd", "gtkw", "svg")

#: Each block's summary and description.
_BLOCKS = {
    "compressor": ("the compressor", "Write the waveform of a compressor."),
    "decompressor": ("the decompressor", "Write the waveform of a decompressor."),
    ENGINE: (
        "the engine: a descriptor from fetch to completion, an error, an abort",
        "Write three waveforms of the engine between two memories.",
    ),
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "wave",
        help="write a waveform and a timing diagram that explain a block",
        description="Simulate a short, telling run under Verilator and write its waveform (VCD), a GTKWave "
        "save file that groups and colours its signals, and a timing diagram (SVG) drawn from that very "
        "waveform.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for name, (summary, description) in _BLOCKS.items():
        block = blocks.add_parser(name, help=summary, description=description)
        add_block_options(block, name)
        _add_output_options(block)
        if name == ENGINE:
            block.add_argument(
                "--scenarios",
                nargs="+",
                metavar="NAME",
                help="some of descriptor, error, abort and, with several units, pieces (default: all)",
            )
        block.set_defaults(run=_run)


def _add_output_options(block: argparse.ArgumentParser) -> None:
    group = block.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="directory (default: the current one)",
    )
    group.add_argument(
        "--only", nargs="+", choices=_KINDS, default=_KINDS, metavar="KIND", help="only vcd, gtkw or svg"
    )
    group.add_argument("--json", action="store_true", help="print what was written as JSON")


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_directory
    from cdma.output import status
    from cdma.verif.codec.design import CodecDesign
    from cdma.verif.codec.wave import wave
    from cdma.verif.engine.wave import engine_wave

    from .designs import design_from, with_rings

    design = design_from(arguments)
    ready_directory(arguments.output)
    with status() as say:
        say(f"building and simulating the {arguments.block}")
        if isinstance(design, CodecDesign):
            paths = wave(design, arguments.output, arguments.only)
        else:
            paths = engine_wave(with_rings(design), arguments.output, arguments.only, arguments.scenarios)
    if arguments.json:
        # A codec has one run, and the kind of a file says which it is.
        names = {path.suffix[1:]: str(path) for path in paths}
        print(json.dumps([str(path) for path in paths] if arguments.block == ENGINE else names))
        return 0
    for path in paths:
        print(path)
    saved = [path for path in paths if path.suffix == ".gtkw"]
    if saved and "vcd" in arguments.only:
        # Both files, in full: a save file alone finds its waveform only in the folder in which GTKWave starts.
        both = (saved[0].with_suffix(".vcd").resolve(), saved[0].resolve())
        print(f"open with: gtkwave {shlex.join(map(str, both))}")
    return 0
