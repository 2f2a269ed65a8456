"""``cdma generate``: the Verilog of a block, and what its users need beside it."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError
from cdma.files import FileError
from cdma.hdl.deliver.block import LANGUAGES, VERILOG, is_edited, may_grow
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.stage import StageConfig
from cdma.options import add_block_options, config_from

__all__ = ["register"]

_CODEC = "Write the Verilog of a {} with AXI-Stream ports: {}."

_STAGE = "Write the Verilog of a {} with AXI-Stream ports: {}. docs/lossy.md says what becomes of a number."

#: Each block's summary and description.
_BLOCKS = {
    "compressor": ("raw words in, the compressed stream out", _CODEC),
    "decompressor": ("the compressed stream and a length in, raw words out", _CODEC),
    "engine": (
        "the DMA engine with AXI4 ports",
        "Write the Verilog of the engine and, unless --no-registers, what software needs to drive it.",
    ),
    "quantiser": ("floating-point numbers in, small integers within a bound on the error out", _STAGE),
    "dequantiser": ("integers in, floating-point numbers out", _STAGE),
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "generate",
        help="write Verilog",
        description="Write one self-contained Verilog file, NAME.v, and beside it what a design flow asks for: constraints "
        "(.sdc, .xdc), power intent (.upf), waivers, an instance, first benches, a FuseSoC .core, Bender.yml, IP-XACT, the "
        "list of memories, a datasheet, and of an engine registers and driver; all of them or none. docs/integration.md has "
        "ports and rules.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for name, (summary, description) in _BLOCKS.items():
        block = blocks.add_parser(name, help=summary, description=description.format(name, summary))
        add_block_options(block, name)
        _add_output_options(block, f"cdma_{name}")
        block.set_defaults(run=_run)


def _add_output_options(parser: argparse.ArgumentParser, name: str) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--name", default=name, help=f"name of the module and of its file (default {name})")
    group.add_argument("--prefix", help="what the names of the other modules start with (default NAME_)")
    group.add_argument(
        "--no-init",
        dest="init",
        action="store_false",
        help="no initial values: nothing but the reset sets a register, as an ASIC flow wants it",
    )
    group.add_argument(
        "--memories",
        choices=("wrap", "infer"),
        default="wrap",
        help="wrap: each memory is an instance of a module of its shape, which a macro can replace; infer: memories stand "
        "where they are used (default wrap)",
    )
    group.add_argument(
        "--language",
        choices=LANGUAGES,
        default=VERILOG,
        help="language of your design: verilog is that of 2005; sv writes SystemVerilog and a package of types; vhdl puts a "
        "package with the component and a wrapper with records for buses beside the Verilog (default verilog)",
    )
    group.add_argument(
        "--source-lines",
        action="store_true",
        help="beside registers, nets, assignments and instances stand file and line of the generator",
    )
    group.add_argument(
        "--period",
        type=_period,
        metavar="NS",
        help="clock period that the timing constraints say (default 1.0, and 8.0 with --pipelined)",
    )
    group.add_argument(
        "--area",
        type=Path,
        metavar="FILE",
        help="what cdma area --json printed about this very block, for the datasheet",
    )
    group.add_argument(
        "--intake",
        type=Path,
        metavar="FILE",
        help="what cdma intake --run speed wrote about this very block, for latency and waveform in the datasheet",
    )
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="directory to write to, created if need be (default: the current one)",
    )
    group.add_argument(
        "--force",
        action="store_true",
        help="overwrite first benches (_tb.v, _cocotb.py) that have been edited",
    )
    group.add_argument("--json", action="store_true", help="print what was written as JSON")


def _period(text: str) -> float:
    """A period in ns."""
    try:
        period = float(text)
    except ValueError:
        period = math.nan
    if not 0.001 <= period <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no clock period in ns, from 0.001 to 1000000")
    return period


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_directory, write_folder
    from cdma.hdl.deliver.block import kind_of
    from cdma.hdl.deliver.datasheet import package_files
    from cdma.output import status, warn

    from .bender import manifest
    from .made import make
    from .report import show, summary_of

    config = _config(arguments)
    for waste in config.waste() if isinstance(config, EngineConfig) else ():
        warn(waste)
    ready_directory(arguments.output)
    with status() as say:
        say(f"generating {arguments.name}")
        made = make(arguments, config)
        files = package_files(made.block)
    if not arguments.force:
        _check_unedited(arguments.output, files)
    sources = [file for file in files if kind_of(file).group == "rtl"]
    paths = write_folder(arguments.output, {**files, **manifest(arguments.output, sources)})
    summary = summary_of(made, paths)
    if arguments.json:
        print(json.dumps(summary))
    else:
        show(made, summary)
    return 0


def _check_unedited(folder: Path, files: Iterable[str]) -> None:
    """Refuses to overwrite what somebody has grown from a first bench."""
    there = [folder / file for file in files if may_grow(file) and (folder / file).is_file()]
    edited = [path for path in there if is_edited(path.name, path.read_text("utf-8", "replace"))]
    if edited:
        raise FileError(
            f"{' and '.join(map(str, edited))} would be overwritten, and somebody has edited it since it was generated; "
            "--force overwrites it, and -o names another folder"
        )


def _config(arguments: argparse.Namespace) -> CodecConfig | StageConfig | EngineConfig:
    config = config_from(arguments)
    # A regression drives the port with the values; Verilog has no use for them.
    if isinstance(config, CodecConfig) and arguments.values is not None and arguments.runtime_values:
        raise ParameterError(
            "values and runtime-values are both given; the values are either fixed or come in on a port"
        )
    return config
