"""What ``cdma generate`` says when it has written the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cdma.base.errors import install_command
from cdma.hdl.deliver.block import Block
from cdma.hdl.deliver.document import memory_groups, memory_row
from cdma.hdl.deliver.registers import uvm_file
from cdma.output import cell, new_table, output

from .made import Made

__all__ = ["missing_file", "show", "summary_of"]

#: Modules with more ports than this are described by their interfaces, and the datasheet has the ports.
_MANY_PORTS = 40


def summary_of(made: Made, paths: Sequence[Path]) -> dict[str, Any]:
    """What was made and written, for a script."""
    block, asked, said = made.block, made.arguments, made.characteristics
    return {
        "file": str(paths[0]),
        "files": [str(path) for path in paths],
        "module": block.name,
        "block": asked.block,
        **said.parameters,
        "bytes_per_cycle": said.bytes_per_cycle,
        "initial_values": asked.init,
        "ports": {port.name: port.width for port in block.ports},
        "memory_bits": sum(memory.bits for memory in block.design.memories),
        "memories": [memory_row(memory) for memory in block.design.memories],
    }


def show(made: Made, summary: dict[str, Any]) -> None:
    """The same, to read."""
    block = made.block
    lines, ports = block.design.text.count("\n"), summary["ports"]
    print(f"{summary['file']}: module {block.name}, {lines:,} lines of Verilog, {len(ports)} ports")
    rows = {
        **made.characteristics.rows,
        "start": "initial values and reset" if summary["initial_values"] else "reset only, no initial values",
    }
    if len(ports) <= _MANY_PORTS:
        named = (name if width == 1 else f"{name}[{width}]" for name, width in ports.items())
        rows["ports"] = ", ".join(named)
    rows["beside it"] = ", ".join(Path(file).name for file in summary["files"][1:])
    rows["not written"] = missing_file(block)
    table = new_table("", "", texts=2)
    table.show_header = False
    for label, row in rows.items():
        if row:
            table.add_row(f"  {label}", cell(row))
    output().print(table)
    _show_memories(block)


def missing_file(block: Block) -> str:
    """What is not written because something is not installed; empty if nothing is."""
    model = uvm_file(block.name)
    if block.registers is None or model in block.texts:
        return ""
    return f"{model}, the register model for UVM, which PeakRDL makes: {install_command('verif')}"


def _show_memories(block: Block) -> None:
    """The memories in a table, those of the same shape in one row."""
    memories = block.design.memories
    if not memories:
        return
    print(f"  {len(memories)} memories, {sum(memory.bits for memory in memories):,} bits:")
    table = new_table("  memories", "number", "words", "bits", "in all", "module")
    table.columns[-1].justify = "left"
    for group in memory_groups(memories):
        sizes = (len(group.memories), group.shape.depth, group.shape.width, group.bits)
        table.add_row(f"  {group.purpose}", *(f"{size:,}" for size in sizes), group.module)
    output().print(table)
