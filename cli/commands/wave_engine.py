"""``cdma wave engine``: waveforms of an offload from fetch to completion, of an error, and of an abort."""

from __future__ import annotations

import argparse
import json
from typing import Any

from cdma.options import ENGINE, add_block_options, engine_config_from

from .wave_options import add_wave_options

__all__ = ["register"]


def register(blocks: Any) -> None:
    """Adds the block's parser."""
    block = blocks.add_parser(
        "engine",
        help="the engine: a descriptor from fetch to completion, an error, an abort",
        description="Write three waveforms of the engine between two memories.",
    )
    add_block_options(block, ENGINE)
    add_wave_options(block)
    block.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    config = engine_config_from(arguments)

    from cdma.hdl.spec.errors import ParameterError
    from cdma.output import status
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.engine.wave import engine_wave

    if not config.registers:
        raise ParameterError("registers is false; the runs drive rings, which come with the register block")
    with status() as say:
        say("building and simulating the engine")
        paths = engine_wave(EngineDesign(config), arguments.output, tuple(arguments.only))
    print(json.dumps([str(path) for path in paths]) if arguments.json else "\n".join(map(str, paths)))
    return 0
