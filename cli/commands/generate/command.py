"""``cdma generate``: the Verilog of a block, and what its users need beside it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from pathlib import Path

from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.files import FileError
from cdma.hdl.deliver.block import LANGUAGES, VERILOG, is_edited, may_grow
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.stage import StageConfig
from cdma.options import ENGINE, block_command, config_from
from cdma.result import Result


def _period(text: str) -> float:
    """A period in ns."""
    try:
        period = float(text)
    except ValueError:
        period = math.nan
    if not 0.001 <= period <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no clock period in ns, from 0.001 to 1000000")
    return period


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_directory, write_folder
    from cdma.hdl.deliver.block import kind_of
    from cdma.hdl.deliver.datasheet import package_files
    from cdma.output import status, warn

    from .block import make, manifest, report, summary_of

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
    return Result(summary, report(made, summary))


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


def _block(block: str, help: str, description: str, *examples: str) -> Command:
    options = (
        option("--name", "name of the module and of its file", f"cdma_{block}"),
        option("--prefix", "what the names of the other modules start with (default NAME_)"),
        flag("--no-init", "no initial values: nothing but the reset sets a register, as an ASIC flow wants it",
            action="store_false", dest="init"),
        option("--memories", "wrap: each memory is an instance of a module of its shape, which a macro can replace; infer: "
            "memories stand where they are used", "wrap", choices=("wrap", "infer")),
        option("--language", "language of your design: verilog is that of 2005; sv writes SystemVerilog and a package of "
            "types; vhdl puts a package with the component beside the Verilog", VERILOG,
            choices=LANGUAGES),
        option("--period NS", "clock period that the timing constraints say (default 1.0, and 8.0 with --pipelined)",
            _period),
        option("-o --output DIR", "directory to write to, created if need be (default: the current one)", Path()),
        flag("--force", "overwrite first benches (_tb.v, _cocotb.py) that have been edited"),
        flag("--json", "print what was written as JSON"),
    )  # fmt: skip
    return block_command(block, help, description, _run, {"output": options}, examples)


def _stream(block: str, help: str, *examples: str, more: str = "") -> Command:
    return _block(
        block, help, f"Write the Verilog of a {block} with AXI-Stream ports: {help}.{more}", *examples
    )


_NUMBERS = " docs/lossy.md says what becomes of a number."

COMMAND = Command(
    "generate",
    "write Verilog",
    "Write one self-contained Verilog file, NAME.v, and beside it what a design flow asks for: constraints (.sdc, .xdc), "
    "waivers, an instance, first benches, a FuseSoC .core, Bender.yml, IP-XACT, the list of memories, "
    "a datasheet, and of an engine registers and driver; all of them or none. docs/integration.md has ports and rules.",
    commands=[
        _stream("compressor", "raw words in, the compressed stream out", "-o rtl",
            "--word-bits 16 --lanes 16 --no-init -o rtl", "--format bf16 --name zip -o rtl"),
        _stream("decompressor", "the compressed stream and a length in, raw words out", "-o rtl",
            "--word-bits 8 --lanes 32 --pipelined -o fpga"),
        _block(ENGINE, "the DMA engine with AXI4 ports",
            "Write the Verilog of the engine and, unless --no-registers, what software needs to drive it.", "-o rtl",
            "--dev-data-bits 128 --host-data-bits 128 --lanes 4 --register-slices in,out -o rtl"),
        _stream("quantiser", "floating-point numbers in, small integers within a bound on the error out", "-o rtl",
            more=_NUMBERS),
        _stream("dequantiser", "integers in, floating-point numbers out", "-o rtl", more=_NUMBERS),
    ],
)  # fmt: skip
