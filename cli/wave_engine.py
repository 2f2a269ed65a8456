"""``cdma wave engine``: waveforms of an offload from fetch to completion, of an error, and of an abort."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .engine_options import add_engine_options, engine_config_from

__all__ = ["register"]

_KINDS = ("vcd", "gtkw", "svg")


def register(blocks: Any) -> None:
    """Adds the block's parser."""
    block = blocks.add_parser(
        "engine",
        help="the engine: a descriptor from fetch to completion, an error, an abort",
        description="Write three waveforms of the engine between two memories.",
    )
    add_engine_options(block)
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
    block.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    config = engine_config_from(arguments)

    from .hdl.errors import ParameterError
    from .progress import status
    from .verif.engine_design import EngineDesign
    from .verif.engine_wave import engine_wave

    if not config.registers:
        raise ParameterError("registers is false; the runs drive rings, which come with the register block")
    with status() as say:
        say("building and simulating the engine")
        paths = engine_wave(EngineDesign(config), arguments.output, tuple(arguments.only))
    print(json.dumps([str(path) for path in paths]) if arguments.json else "\n".join(map(str, paths)))
    return 0
