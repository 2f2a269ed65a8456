"""The memories of a design as rows of a list, and their document, for whoever replaces them by macros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdma.base.document import Heading, Paragraph, Table, as_markdown
from cdma.hdl.verilog.printer.design import PlacedMemory
from cdma.hdl.verilog.printer.memories import Shape


def memory_row(memory: PlacedMemory) -> dict[str, Any]:
    """A memory as plain values, of which the first says what it is for.

    ``read_latency`` is 1 for a word in the cycle after its address, and 0 for one in the same cycle, as register files and
    look-up tables read; ``write_granularity`` is the number of bits for each write enable. Of the ``bits`` of
    one whose words have checks ``check_bits`` are these.
    """
    shape = memory.shape
    return {
        "purpose": memory.purpose,
        "path": memory.path,
        "module": memory.module or None,
        "depth": shape.depth,
        "width": shape.width,
        "write_ports": shape.writes,
        "read_ports": len(shape.reads),
        "read_latency": int(all(shape.reads)),
        "write_granularity": shape.granule,
        "bits": memory.bits,
        **({"check_bits": memory.check_bits} if memory.checks else {}),
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
        return sum(memory.bits for memory in self.memories)

    @property
    def purpose(self) -> str:
        """What they are for; what several purposes have in common before a colon is said once."""
        texts: dict[str, list[str]] = {}
        for purpose in dict.fromkeys(memory.purpose for memory in self.memories):
            subject, _, rest = purpose.partition(": ")
            texts.setdefault(subject, []).extend([rest] if rest else [])
        return "; ".join(
            f"{subject}: {'; '.join(rest)}" if rest else subject for subject, rest in texts.items()
        )


def memory_ports(memory: PlacedMemory) -> tuple[str, str]:
    """The number of its ports and the kind of its reads, to read: ``1w1r`` and ``synchronous``."""
    shape = memory.shape
    reads = "synchronous" if all(shape.reads) else "asynchronous"
    return f"{shape.writes}w{len(shape.reads)}r", reads


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
    of_checks = f" of which {checks:,} are checks," if checks else ""
    head = f"{len(memories)} memories, {bits:,} bits,{of_checks} all at the clock of the design."
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
            group.module,
            f"{group.shape.depth} x {group.shape.width}",
            str(len(group.memories)),
            f"{group.bits:,}",
        )
        for group in memory_groups(memories)
    ]
    return Table(("memories", "module", "words x bits", "how many", "bits"), rows, (3, 4))
