"""What ``cdma generate engine`` writes: the Verilog, and the texts that go with it."""

from __future__ import annotations

import re

from ..params import EngineConfig

__all__ = ["engine_files", "engine_verilog"]


def engine_verilog(
    config: EngineConfig, *, name: str = "cdma_engine", prefix: str | None = None, init: bool = True
) -> str:
    """The Verilog of the engine as a module called ``name``."""
    from ..verilog import emit
    from .engine import engine_shell

    form = config.format
    return emit(
        engine_shell(config),
        name,
        prefix=prefix,
        init=init,
        title="compressing DMA engine with AXI4 ports",
        parameters={
            "word bits": form.word_bits,
            "lanes": config.lanes,
            "window": form.window,
            "code bits": form.code_bits,
            "dev port": f"{config.dev_data_bits} bits of data, {config.dev_address_bits} of address",
            "host port": f"{config.host_data_bits} bits of data, {config.host_address_bits} of address",
            "bursts": f"up to {config.burst_beats} beats, {config.outstanding} under way",
            "read buffer": f"{config.read_buffer} beats",
            "write buffer": f"{config.write_buffer} beats",
            "registers": "yes" if config.registers else "no",
        },
    )


def engine_files(
    config: EngineConfig, *, name: str = "cdma_engine", prefix: str | None = None, init: bool = True
) -> dict[str, str]:
    """All texts, by file name: the Verilog first."""
    verilog = engine_verilog(config, name=name, prefix=prefix, init=init)
    files = {
        f"{name}.v": verilog,
        f"{name}_inst.v": _instance(name, verilog),
        f"{name}.core": _core(name, config),
    }
    if config.registers:
        from .register_files import TEXTS
        from .register_map import register_map

        registers = register_map(config)
        files |= {file: text(registers) for file, text in TEXTS.items()}
    return files


def _instance(name: str, verilog: str) -> str:
    """An instantiation of the module to copy from: a wire for every port, of its name."""
    match = re.search(rf"^module {name} \(\n(.*?)\n\);", verilog, re.MULTILINE | re.DOTALL)
    assert match is not None
    ports = re.findall(r"(input|output)\s+(?:wire|reg)\s+(\[\d+:0\] )?(\w+)", match[1])
    wires = [f"wire {width}{port};" for _, width, port in ports]
    longest = max(len(port) for _, _, port in ports)
    pins = [f"  .{port:{longest}} ({port})" for _, _, port in ports]
    return (
        f"// An instance of {name}. aresetn is synchronous to aclk and active low.\n"
        + "\n".join(wires)
        + f"\n\n{name} u_{name} (\n"
        + ",\n".join(pins)
        + "\n);\n"
    )


def _core(name: str, config: EngineConfig) -> str:
    """The FuseSoC core file."""
    documents = ["cdma_regs.h", "cdma_regs.rdl", "cdma_registers.md"] if config.registers else []
    lines = [
        "CAPI=2:",
        f"name: cdma:dma:{name}:0.1.0",
        "description: Compressing DMA engine with AXI4 ports",
        "filesets:",
        "  rtl:",
        "    files:",
        f"      - {name}.v: {{file_type: verilogSource-2005}}",
    ]
    if documents:
        lines += ["  software:", "    files:"]
        lines += [f"      - {file}: {{file_type: user}}" for file in documents]
    lines += [
        "targets:",
        "  default:",
        f"    filesets: [{'rtl, software' if documents else 'rtl'}]",
        f"    toplevel: {name}",
        "  lint:",
        "    default_tool: verilator",
        "    filesets: [rtl]",
        "    tools: {verilator: {mode: lint-only, verilator_options: [-Wall]}}",
        f"    toplevel: {name}",
    ]
    return "\n".join(lines) + "\n"
