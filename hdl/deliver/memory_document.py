"""The document of a module's memories, for whoever replaces them by macros."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.hdl.verilog.printer.design import PlacedMemory

from .document import Heading, Paragraph, Table, as_markdown
from .memory_list import memory_groups, memory_ports

__all__ = ["memory_document", "memory_table"]

_RULES = """\
A synchronous port gives a word in the cycle after its address if its enable is high, and keeps it until the next.
An asynchronous one gives it in the same cycle, as register files and look-up tables do. A read of the word that
is written in the same cycle gives the word from before; nothing depends on that where the module's name ends with
_block. What a memory holds needs no reset."""
_TITLES = ("memory", "instance", "module", "words x bits", "ports", "reads", "bits per write enable", "bits")


def memory_document(name: str, memories: Sequence[PlacedMemory]) -> str:
    """A table in Markdown of all memories of the module ``name``."""
    bits, checks = (sum(getattr(memory, of) for memory in memories) for of in ("bits", "check_bits"))
    rows = [
        (
            memory.purpose,
            f"`{memory.path}`",
            f"`{memory.module}`" if memory.module else "",
            f"{memory.shape.depth} x {memory.shape.width}",
            *memory_ports(memory),
            str(memory.shape.granule),
            f"{memory.bits:,}",
            *([f"{memory.check_bits:,}"] if checks else []),
        )
        for memory in memories
    ]
    titles = (*_TITLES, *(["of them checks"] if checks else []))
    told = f" of which {checks:,} are checks," if checks else ""
    head = f"{len(memories)} memories, {bits:,} bits,{told} all at the clock of the design."
    parts = (
        Heading(f"Memories of {name}", 1),
        Paragraph(f"{head}\n{_RULES}"),
        Table(titles, rows, numbers=(3, 6, 7, *([8] if checks else []))),
    )
    return as_markdown(parts)


def memory_table(memories: Sequence[PlacedMemory]) -> Table:
    """Those of one shape in a row."""
    rows = [
        (
            group.purpose,
            f"`{group.module}`",
            f"{group.shape.depth} x {group.shape.width}",
            str(len(group.memories)),
            f"{group.bits:,}",
        )
        for group in memory_groups(memories)
    ]
    return Table(("memories", "module", "words x bits", "how many", "bits"), rows)
