"""``cdma generate engine``: the Verilog of an engine, and what its users need beside it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from cdma.engine_options import add_engine_options, engine_config_from

__all__ = ["register"]


def register(blocks: Any, add_output_options: Callable[[argparse.ArgumentParser, str], None]) -> None:
    """Adds the block's parser."""
    block = blocks.add_parser(
        "engine",
        help="the DMA engine with AXI4 ports",
        description="Write the engine's Verilog, an instantiation template, a FuseSoC .core file, the lint "
        "waivers and, unless --no-registers, the register document, C header, C driver and SystemRDL.",
    )
    add_engine_options(block)
    add_output_options(block, "cdma_engine")
    block.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    config = engine_config_from(arguments)

    from cdma.hdl.engine.engine import engine_ports
    from cdma.hdl.engine.generate import engine_files
    from cdma.progress import status
    from cdma.sim.driver.c_driver import c_driver

    from .generate import write

    with status() as step:
        step(f"generating {arguments.name}")
        files = engine_files(
            config,
            name=arguments.name,
            prefix=arguments.prefix,
            init=arguments.init,
            headers={"cdma.h": c_driver()} if config.registers else {},
        )
    paths = [write(arguments.output, name, text) for name, text in files.items()]
    verilog = next(iter(files.values()))
    codec_bytes = config.lanes * config.format.word_bits // 8
    summary = {
        "file": str(paths[0]),
        "files": [str(path) for path in paths],
        "module": arguments.name,
        "block": "engine",
        "word_bits": config.format.word_bits,
        "lanes": config.lanes,
        "window": config.format.window,
        "code_bits": config.format.code_bits,
        "dev_data_bits": config.dev_data_bits,
        "host_data_bits": config.host_data_bits,
        "alignment": config.alignment,
        "burst_beats": config.burst_beats,
        "outstanding": config.outstanding,
        "read_buffer_beats": config.read_buffer,
        "write_buffer_beats": config.write_buffer,
        "registers": config.registers,
        "pipelined": config.pipelined,
        "bytes_per_cycle": min(codec_bytes, config.dev_data_bits // 8),
        "initial_values": arguments.init,
        "ports": {port.name: port.width for port in engine_ports(config)},
    }
    if arguments.json:
        print(json.dumps(summary))
    else:
        _show(summary, config.latency, verilog.count("\n"))
    return 0


def _show(summary: dict[str, Any], latency: int, lines: int) -> None:
    print(f"{summary['file']}: module {summary['module']}, {lines:,} lines, {len(summary['ports'])} ports")
    print(f"  device port {summary['dev_data_bits']} bits, host port {summary['host_data_bits']} bits")
    shape = f"{summary['lanes']} x {summary['word_bits']} bits"
    print(f"  codec {shape}: {summary['bytes_per_cycle']} bytes per cycle")
    for port in ("dev", "host"):
        beat, beats = summary[f"{port}_data_bits"] // 8, summary["read_buffer_beats"]
        need = f"{beat} bytes per cycle x {latency} cycles of latency = {beat * latency:,} bytes"
        print(
            f"  read buffer of the {port} port: {beats} beats = {beat * beats:,} bytes; the rule asks "
            f"for {need}"
        )
    for path in summary["files"][1:]:
        print(f"  {path}")
