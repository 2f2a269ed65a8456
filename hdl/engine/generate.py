"""What ``cdma generate engine`` writes: the Verilog, and the texts that go with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from cdma.hdl.spec.engine import EngineConfig

__all__ = ["engine_files", "engine_verilog"]


def engine_verilog(
    config: EngineConfig, *, name: str = "cdma_engine", prefix: str | None = None, init: bool = True
) -> str:
    """The Verilog of the engine as a module called ``name``."""
    from cdma.hdl.verilog.emit import emit

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
            "alignment": f"to a {config.alignment}",
            "bursts": f"up to {config.burst_beats} beats, {config.outstanding} under way",
            "read buffer": f"{config.read_buffer} beats",
            "write buffer": f"{config.write_buffer} beats",
            "registers": "yes" if config.registers else "no",
            **({"pipelined": "yes"} if config.pipelined else {}),
        },
    )


def engine_files(
    config: EngineConfig,
    *,
    name: str = "cdma_engine",
    prefix: str | None = None,
    init: bool = True,
    waivers: Mapping[str, str] = MappingProxyType({}),
    headers: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """All texts, by file name: the Verilog first.

    ``waivers`` for Verilator and C ``headers`` are texts from elsewhere that go with them.
    """
    verilog = engine_verilog(config, name=name, prefix=prefix, init=init)
    documents = {}
    if config.registers:
        from cdma.hdl.spec.registers.map import register_map
        from cdma.hdl.texts.files import TEXTS

        registers = register_map(config)
        documents = {file: text(registers) for file, text in TEXTS.items()}
    return {
        f"{name}.v": verilog,
        f"{name}_inst.v": _instance(name, verilog),
        f"{name}.core": _core(name, waivers, [*documents, *headers]),
        **documents,
        **headers,
        **waivers,
    }


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


#: What FuseSoC calls the files beside the Verilog, by the end of their names.
_FILE_TYPES = {".h": "{file_type: cSource, is_include_file: true}", ".vlt": "{file_type: vlt}"}


def _core(name: str, waivers: Iterable[str], beside: Iterable[str]) -> str:
    """The FuseSoC core file: the Verilog for every design, the C headers for its software, the rest to read."""
    software = [file for file in beside if file.endswith(".h")]
    filesets = {
        "rtl": [f"{name}.v: {{file_type: verilogSource-2005}}"],
        "waivers": [f"{file}: {_FILE_TYPES['.vlt']}" for file in waivers],
        "software": [f"{file}: {_FILE_TYPES['.h']}" for file in software],
        "documents": [f"{file}: {{file_type: user}}" for file in beside if file not in software],
    }
    lines = [
        "CAPI=2:",
        f"name: cdma:dma:{name}:0.1.0",
        "description: Compressing DMA engine with AXI4 ports",
        "filesets:",
    ]
    for fileset, files in filesets.items():
        if files:
            lines += [f"  {fileset}:", "    files:", *(f"      - {file}" for file in files)]
    lines += [
        "targets:",
        "  default:",
        "    description: The Verilog, for a design that depends on it",
        "    filesets: [rtl]",
        f"    toplevel: {name}",
        "  lint:",
        "    description: Verilator's complaints, of which there should be none",
        "    flow: lint",
        "    flow_options: {tool: verilator, verilator_options: [-Wall]}",
        f"    filesets: [{'rtl, waivers' if filesets['waivers'] else 'rtl'}]",
        f"    toplevel: {name}",
    ]
    if software:
        lines += [
            "  software:",
            "    description: The C headers, for the software that drives it",
            "    filesets: [software]",
        ]
    return "\n".join(lines) + "\n"
