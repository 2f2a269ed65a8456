"""``cdma generate``: the Verilog of a codec or an engine, and what its users need beside it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import codec_of
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.errors import ParameterError
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.options import add_block_options, config_from, stage_config_from

if TYPE_CHECKING:
    from cdma.hdl.verilog.printer.design import PlacedMemory

__all__ = ["register"]

_CODEC = "Write the Verilog of a {} with AXI-Stream ports: {}."

_STAGE = "Write the Verilog of a {} with AXI-Stream ports: {}. docs/lossy.md says what becomes of a number."

#: Each block's summary and description.
_BLOCKS = {
    "compressor": ("raw words in, the compressed stream out", _CODEC),
    "decompressor": ("the compressed stream and a length in, raw words out", _CODEC),
    "engine": (
        "the DMA engine with AXI4 ports",
        "Write the engine's Verilog, an instantiation template, a FuseSoC .core file, the list of "
        "memories, the lint waivers and, unless --no-registers, the register document, C header, C driver and SystemRDL.",
    ),
    "quantiser": ("floating-point numbers in, small integers within a bound on the error out", _STAGE),
    "dequantiser": ("integers in, floating-point numbers out", _STAGE),
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "generate",
        help="write Verilog",
        description="Write one self-contained Verilog file, NAME.v; docs/integration.md has ports and rules.",
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
        "-o",
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="directory to write to, created if need be (default: the current one)",
    )
    group.add_argument("--json", action="store_true", help="print what was written as JSON")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.block in STAGES:
        return _run_stage(arguments, stage_config_from(arguments))
    if getattr(arguments, "values", None) is not None and getattr(arguments, "runtime_values", None):
        # A regression drives the port with the values; Verilog has no use for them.
        raise ParameterError(
            "values and runtime-values are both given; the values are either fixed or come in on a port"
        )
    config = config_from(arguments)

    from cdma.files import ready_directory, write_text
    from cdma.hdl.verilog.memory_list import memory_row
    from cdma.output import status, warn

    if isinstance(config, EngineConfig) and (waste := config.waste()):
        warn(waste)
    ready_directory(arguments.output)
    with status() as say:
        say(f"generating {arguments.name}")
        files, ports, memories = _generate(arguments, config)
    paths = [write_text(arguments.output, name, text) for name, text in files.items()]
    engine = isinstance(config, EngineConfig)
    summary = {
        "file": str(paths[0]),
        **({"files": [str(path) for path in paths]} if engine else {}),
        "module": arguments.name,
        "block": arguments.block,
        **_parameters(config),
        "pipelined": config.pipelined,
        "bytes_per_cycle": _bytes_per_cycle(config),
        "initial_values": arguments.init,
        "ports": ports,
        "memory_bits": sum(memory.bits for memory in memories),
        "memories": [memory_row(memory) for memory in memories],
    }
    if arguments.json:
        print(json.dumps(summary))
        return 0
    lines = next(iter(files.values())).count("\n")
    if isinstance(config, EngineConfig):
        _show_engine(summary, config, lines)
    else:
        _show_codec(summary, config, lines)
    _show_memories(memories)
    return 0


def _run_stage(arguments: argparse.Namespace, config: StageConfig) -> int:
    from cdma.files import write_text
    from cdma.hdl.lossy.generate import stage_design
    from cdma.hdl.lossy.shell import stage_ports

    wishes = {"name": arguments.name, "prefix": arguments.prefix, "init": arguments.init}
    text = stage_design(arguments.block, config, **wishes, memories=arguments.memories).text
    summary = {
        "file": str(write_text(arguments.output, f"{arguments.name}.v", text)),
        "module": arguments.name,
        "block": arguments.block,
        **config.settings(),
        "bytes_per_cycle": config.number_bytes,
        "initial_values": arguments.init,
        "ports": {port.name: port.width for port in stage_ports(arguments.block, config)},
    }
    if arguments.json:
        print(json.dumps(summary))
        return 0
    form = config.form
    steps = f"2^{form.least_exponent} to 2^{form.greatest_exponent}"
    rows = {
        "numbers": f"{form.number}, {config.lanes} per beat: {config.number_bytes} bytes per cycle",
        "integers": f"{form.bits} bits, {-form.limit} to {form.limit}, in steps of {steps}",
        "zero": "made of zero alone" if form.keep_nonzero else "",
        **_start_and_ports(summary),
    }
    _show_rows(summary, rows, text.count("\n"))
    return 0


def _generate(
    arguments: argparse.Namespace, config: CodecConfig | EngineConfig
) -> tuple[dict[str, str], dict[str, int], tuple[PlacedMemory, ...]]:
    """The texts by file name, the Verilog first, the width of each port of the module, and its memories."""
    wishes = {
        "name": arguments.name,
        "prefix": arguments.prefix,
        "init": arguments.init,
        "memories": arguments.memories,
    }
    if isinstance(config, EngineConfig):
        from cdma.hdl.engine.engine import engine_ports
        from cdma.hdl.engine.generate import engine_design, engine_files
        from cdma.sim.driver.c_driver import c_driver

        headers = {"cdma.h": c_driver()} if config.registers else {}
        ports = {port.name: port.width for port in engine_ports(config)}
        design = engine_design(config, **wishes)
        return engine_files(config, design, name=arguments.name, headers=headers), ports, design.memories

    from cdma.hdl.codec.generate import codec_design
    from cdma.hdl.codec.shell import codec_ports

    design = codec_design(arguments.block, config, **wishes)
    listed = codec_ports(config, length=arguments.block == "decompressor")
    ports = {port.name: port.width for port in listed}
    return {f"{arguments.name}.v": design.text}, ports, design.memories


def _parameters(config: CodecConfig | EngineConfig) -> dict[str, Any]:
    """What the summary says about the format and the shape."""
    form = config.format
    engine = isinstance(config, EngineConfig)
    unsaid = {option.name for option in codec_of(form).options if engine and not option.engine}
    settings = {name: value for name, value in form.settings().items() if name not in unsaid}
    rows = {"word_bits": form.word_bits, "lanes": config.lanes, **settings}
    if isinstance(config, EngineConfig):
        return {
            **rows,
            "dev_data_bits": config.dev_data_bits,
            "host_data_bits": config.host_data_bits,
            "alignment": config.alignment,
            "burst_beats": config.burst_beats,
            "outstanding": config.outstanding,
            "ring_reads": config.ring_reads,
            "ring_writes": config.ring_writes,
            "read_buffer_beats": config.read_buffer,
            "write_buffer_beats": config.write_buffer,
            "units": config.units,
            "stripe_bytes": config.stripe_bytes,
            "registers": config.registers,
        }
    if "values" in rows and config.runtime_values:
        rows["values"] = None
    return {**rows, "table_size": config.table_size}


def _bytes_per_cycle(config: CodecConfig | EngineConfig) -> float:
    if isinstance(config, EngineConfig):
        return min(config.codec.data_bits, config.dev_data_bits) // 8
    return config.data_bits / 8


def _show_codec(summary: dict[str, Any], config: CodecConfig, lines: int) -> None:
    form = config.format
    values = ", ".join(map(hex, form.values))
    rows = {
        "words": f"{form.word_bits} bits, {config.lanes} per beat: "
        f"{summary['bytes_per_cycle']:g} bytes per cycle",
        "window": f"{form.window} words, header of {form.window * form.code_bits} bits",
        "values": f"{config.table_size} on the port values" if config.runtime_values else values,
        "clock": "pipelined" if config.pipelined else "not pipelined",
        **_start_and_ports(summary),
    }
    _show_rows(summary, rows, lines)


def _start_and_ports(summary: dict[str, Any]) -> dict[str, str]:
    return {
        "start": "initial values and reset" if summary["initial_values"] else "reset only, no initial values",
        "ports": ", ".join(
            name if width == 1 else f"{name}[{width}]" for name, width in summary["ports"].items()
        ),
    }


def _show_rows(summary: dict[str, Any], rows: dict[str, str], lines: int) -> None:
    from cdma.output import new_table, output

    table = new_table("", "", texts=2)
    table.show_header = False
    for label, row in rows.items():
        if row:
            table.add_row(f"  {label}", row)
    print(f"{summary['file']}: module {summary['module']}, {lines:,} lines of Verilog")
    output().print(table)


def _show_engine(summary: dict[str, Any], config: EngineConfig, lines: int) -> None:
    print(f"{summary['file']}: module {summary['module']}, {lines:,} lines, {len(summary['ports'])} ports")
    ports = f"{config.units} device ports of" if config.units > 1 else "device port"
    print(f"  {ports} {config.dev_data_bits} bits, host port {config.host_data_bits} bits")
    shape = f"{config.lanes} x {config.format.word_bits} bits"
    print(f"  codec {shape}: {summary['bytes_per_cycle']} bytes per cycle")
    for port, bits in (("dev", config.dev_data_bits), ("host", config.host_data_bits)):
        beat, beats, latency = bits // 8, config.read_buffer, config.latency
        need = f"{beat} bytes per cycle x {latency} cycles of latency = {beat * latency:,} bytes"
        print(
            f"  read buffer of the {port} port: {beats} beats = {beat * beats:,} bytes; the rule asks "
            f"for {need}"
        )
    for path in summary["files"][1:]:
        print(f"  {path}")


def _show_memories(memories: Sequence[PlacedMemory]) -> None:
    """The memories in a table, those of the same shape and purpose in one row."""
    from cdma.hdl.verilog.memory_list import memory_groups, memory_row
    from cdma.output import new_table, output

    if not memories:
        return
    print(f"  {len(memories)} memories, {sum(memory.bits for memory in memories):,} bits:")
    table = new_table("  for", "ports", "reads", "number", "words", "bits", "in all", texts=3)
    for memory, number in memory_groups(memories):
        row = memory_row(memory)
        ports = f"{row['write_ports']}w{row['read_ports']}r"
        reads = "synchronous" if row["read_latency"] else "asynchronous"
        sizes = (number, row["depth"], row["width"], row["bits"] * number)
        table.add_row(f"  {row['purpose']}", ports, reads, *(f"{size:,}" for size in sizes))
    output().print(table)
