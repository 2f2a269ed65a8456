"""What ``cdma generate`` says when it has written the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cdma.base.document import Part, Table
from cdma.base.errors import install_command
from cdma.hdl.deliver.block import Block
from cdma.hdl.deliver.memories import MemoryGroup, memory_groups, memory_row
from cdma.hdl.deliver.registers import uvm_file

from .block import Made

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


def report(made: Made, summary: dict[str, Any]) -> Iterator[Part | str]:
    """The same, to read."""
    block = made.block
    lines, ports = block.design.text.count("\n"), summary["ports"]
    yield f"{summary['file']}: module {block.name}, {lines:,} lines of Verilog, {len(ports)} ports"
    rows = {
        **made.characteristics.rows,
        "start": "initial values and reset" if summary["initial_values"] else "reset only, no initial values",
    }
    if len(ports) <= _MANY_PORTS:
        named = (name if width == 1 else f"{name}[{width}]" for name, width in ports.items())
        rows["ports"] = ", ".join(named)
    rows["beside it"] = ", ".join(Path(file).name for file in summary["files"][1:])
    rows["not written"] = missing_file(block)
    yield Table(("", ""), [(f"  {label}", row) for label, row in rows.items() if row])
    if memories := block.design.memories:
        yield f"  {len(memories)} memories, {sum(memory.bits for memory in memories):,} bits:"
        yield Table(_MEMORIES, [_group(group) for group in memory_groups(memories)], (1, 2, 3, 4))


def missing_file(block: Block) -> str:
    """What is not written because something is not installed; empty if nothing is."""
    model = uvm_file(block.name)
    if block.registers is None or model in block.texts:
        return ""
    return f"{model}, the register model for UVM, which PeakRDL makes: {install_command('verif')}"


_MEMORIES = ("  memories", "number", "words", "bits", "in all", "module")


def _group(group: MemoryGroup) -> Sequence[str]:
    """A row for all memories of a shape."""
    sizes = (len(group.memories), group.shape.depth, group.shape.width, group.bits)
    return (f"  {group.purpose}", *(f"{size:,}" for size in sizes), group.module)
