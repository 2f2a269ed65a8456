"""``cdma wave``: a waveform that explains a block."""

from __future__ import annotations

import argparse
import json
from typing import Any

from cdma.options import add_block_options, codec_config_from

from . import wave_engine
from .wave_options import add_wave_options

__all__ = ["register"]


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
    for kind in ("compressor", "decompressor"):
        block = blocks.add_parser(kind, help=f"the {kind}", description=f"Write the waveform of a {kind}.")
        add_block_options(block, kind)
        add_wave_options(block)
        block.set_defaults(run=_run, kind=kind)
    wave_engine.register(blocks)


def _run(arguments: argparse.Namespace) -> int:
    config = codec_config_from(arguments)

    from cdma.output import status
    from cdma.verif.codec.design import CodecDesign
    from cdma.verif.codec.wave import wave

    design = CodecDesign(arguments.kind, config)
    with status() as say:
        say(f"building and simulating the {design}")
        paths = wave(design, arguments.output, tuple(arguments.only))
    if arguments.json:
        print(json.dumps({path.suffix[1:]: str(path) for path in paths}))
        return 0
    for path in paths:
        print(path)
    if "gtkw" in arguments.only and "vcd" in arguments.only:
        print(f"open with: gtkwave {arguments.output / arguments.kind}.gtkw")
    return 0
