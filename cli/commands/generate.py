"""``cdma generate``: Verilog for a design of the user's."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from cdma.options import add_codec_options, codec_config_from

from . import generate_engine

__all__ = ["register", "write"]

_CODECS = {
    "compressor": "raw words in, the compressed stream out",
    "decompressor": "the compressed stream and a length in, raw words out",
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "generate",
        help="write Verilog",
        description="Write one self-contained Verilog file, NAME.v; docs/integration.md has ports and rules.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for kind, summary in _CODECS.items():
        block = blocks.add_parser(
            kind, help=summary, description=f"Write the Verilog of a {kind} with AXI-Stream ports: {summary}."
        )
        add_codec_options(block)
        _add_output_options(block, f"cdma_{kind}")
        block.set_defaults(run=_run_codec, kind=kind)
    generate_engine.register(blocks, _add_output_options)


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
        "-o",
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="directory to write to, created if need be (default: the current one)",
    )
    group.add_argument("--json", action="store_true", help="print what was written as JSON")


def _run_codec(arguments: argparse.Namespace) -> int:
    config = codec_config_from(arguments)

    from cdma.hdl.codec.generate import codec_verilog
    from cdma.hdl.codec.shell import codec_ports
    from cdma.progress import status

    with status() as step:
        step(f"generating {arguments.name}")
        text = codec_verilog(
            arguments.kind, config, name=arguments.name, prefix=arguments.prefix, init=arguments.init
        )
    path = write(arguments.output, f"{arguments.name}.v", text)
    summary = {
        "file": str(path),
        "module": arguments.name,
        "block": arguments.kind,
        "word_bits": config.format.word_bits,
        "lanes": config.lanes,
        "window": config.format.window,
        "code_bits": config.format.code_bits,
        "values": None if config.runtime_values else list(config.format.values),
        "table_size": config.table_size,
        "pipelined": config.pipelined,
        "bytes_per_cycle": config.data_bits / 8,
        "initial_values": arguments.init,
        "ports": {
            port.name: port.width for port in codec_ports(config, length=arguments.kind == "decompressor")
        },
    }
    if arguments.json:
        print(json.dumps(summary))
    else:
        _show(path, text, summary)
    return 0


def write(directory: Path, name: str, text: str) -> Path:
    """Writes one file whole or not at all, and makes its directory if need be."""
    from cdma.files import FileError, replacing

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create the directory {directory}: {error.strerror}") from None
    path = directory / name
    with replacing(path) as file:
        file.write(text.encode())
    return path


def _show(path: Path, text: str, summary: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    values = summary["values"]
    table = Table(box=None, show_header=False, pad_edge=False)
    rows = {
        "words": f"{summary['word_bits']} bits, {summary['lanes']} per beat: "
        f"{summary['bytes_per_cycle']:g} bytes per cycle",
        "window": f"{summary['window']} words, header of {summary['window'] * summary['code_bits']} bits",
        "values": f"{summary['table_size']} on the port values"
        if values is None
        else ", ".join(map(hex, values)),
        "clock": "pipelined" if summary["pipelined"] else "not pipelined",
        "start": "initial values and reset" if summary["initial_values"] else "reset only, no initial values",
        "ports": ", ".join(
            name if width == 1 else f"{name}[{width}]" for name, width in summary["ports"].items()
        ),
    }
    for label, row in rows.items():
        table.add_row(f"  {label}", row)
    print(f"{path}: module {summary['module']}, {text.count(chr(10)):,} lines of Verilog")
    Console().print(table)
