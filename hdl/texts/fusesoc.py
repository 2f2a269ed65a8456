"""The FuseSoC core file of a generated module."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["fusesoc_core"]

#: The attributes of a file beside the Verilog, by the end of its name; files of other names are documents.
_FILE_TYPES = {".h": "{file_type: cSource, is_include_file: true}", ".vlt": "{file_type: vlt}"}


def fusesoc_core(name: str, description: str, files: Iterable[str]) -> str:
    """The core file of the module ``name``, whose Verilog is ``NAME.v`` and which has ``files`` beside it.

    The Verilog is for every design, the waivers (``.vlt``) for its lint, the C headers (``.h``) for its software and
    the rest to read.
    """
    files = list(files)
    headers, waivers = ([file for file in files if file.endswith(end)] for end in (".h", ".vlt"))
    filesets = {
        "rtl": [f"{name}.v: {{file_type: verilogSource-2005}}"],
        "waivers": [f"{file}: {_FILE_TYPES['.vlt']}" for file in waivers],
        "software": [f"{file}: {_FILE_TYPES['.h']}" for file in headers],
        "documents": [
            f"{file}: {{file_type: user}}" for file in files if file not in headers and file not in waivers
        ],
    }
    lines = [
        "CAPI=2:",
        f"name: cdma:dma:{name}:0.1.0",
        f"description: {description}",
        "filesets:",
    ]
    for fileset, entries in filesets.items():
        if entries:
            lines += [f"  {fileset}:", "    files:", *(f"      - {entry}" for entry in entries)]
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
        f"    filesets: [{'rtl, waivers' if waivers else 'rtl'}]",
        f"    toplevel: {name}",
    ]
    if headers:
        lines += [
            "  software:",
            "    description: The C headers, for the software that drives it",
            "    filesets: [software]",
        ]
    return "\n".join(lines) + "\n"
