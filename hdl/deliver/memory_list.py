"""The list of the memories of a design, for whoever replaces them by macros, and for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdma.hdl.verilog.printer.design import PlacedMemory
from cdma.hdl.verilog.printer.memories import Shape

__all__ = ["MemoryGroup", "memory_document", "memory_groups", "memory_row"]


def memory_row(memory: PlacedMemory) -> dict[str, Any]:
    """A memory as plain values.

    ``read_latency`` is 1 for a word in the cycle after its address, and 0 for one in the same cycle, as register files and
    look-up tables read; ``write_granularity`` is the number of bits for each write enable.
    """
    shape = memory.shape
    return {
        "path": memory.path,
        "module": memory.module or None,
        "depth": shape.depth,
        "width": shape.width,
        "write_ports": shape.writes,
        "read_ports": len(shape.reads),
        "read_latency": int(all(shape.reads)),
        "write_granularity": shape.granule,
        "bits": memory.bits,
        "purpose": memory.purpose,
    }


def memory_groups(memories: Sequence[PlacedMemory]) -> list[MemoryGroup]:
    """The memories by their shapes, of which each is one module or one macro; the shape with the most bits first."""
    groups: dict[Shape, list[PlacedMemory]] = {}
    for memory in memories:
        groups.setdefault(memory.shape, []).append(memory)
    found = [MemoryGroup(shape, tuple(group)) for shape, group in groups.items()]
    return sorted(found, key=lambda group: -group.bits)


@dataclass(frozen=True)
class MemoryGroup:
    """The memories of a shape."""

    shape: Shape
    memories: tuple[PlacedMemory, ...]

    @property
    def module(self) -> str:
        """The module that each of them is an instance of, or a word for the shape where there is none."""
        return self.memories[0].module or self.shape.name

    @property
    def bits(self) -> int:
        """Of all of them."""
        return sum(memory.bits for memory in self.memories)

    @property
    def purpose(self) -> str:
        """What they are for; what several purposes have in common before a colon is said once."""
        said: dict[str, list[str]] = {}
        for purpose in dict.fromkeys(memory.purpose for memory in self.memories):
            subject, _, rest = purpose.partition(": ")
            said.setdefault(subject, []).extend([rest] if rest else [])
        return "; ".join(
            f"{subject}: {'; '.join(rest)}" if rest else subject for subject, rest in said.items()
        )


def memory_document(name: str, memories: Sequence[PlacedMemory]) -> str:
    """A table in Markdown of all memories of the module ``name``."""
    lines = [
        f"# Memories of {name}",
        "",
        f"{len(memories)} memories, {sum(memory.bits for memory in memories):,} bits, all at the clock of the design.",
        "A synchronous port gives a word in the cycle after its address if its enable is high, and keeps it until the next.",
        "An asynchronous one gives it in the same cycle, as register files and look-up tables do. A read of the word that",
        "is written in the same cycle gives the word from before; nothing depends on that where the module's name ends with",
        "_block. What a memory holds needs no reset.",
        "",
        "| instance | module | words x bits | ports | reads | bits per write enable | bits | for |",
        "|---|---|---:|---|---|---:|---:|---|",
    ]
    for memory in memories:
        row = memory_row(memory)
        cells = (
            f"`{row['path']}`",
            f"`{row['module']}`" if row["module"] else "",
            f"{row['depth']} x {row['width']}",
            f"{row['write_ports']}w{row['read_ports']}r",
            "synchronous" if row["read_latency"] else "asynchronous",
            str(row["write_granularity"]),
            f"{row['bits']:,}",
            row["purpose"],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
