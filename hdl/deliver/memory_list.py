"""The memories of a design as rows of a list, and what each is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdma.hdl.verilog.printer.design import PlacedMemory
from cdma.hdl.verilog.printer.memories import Shape

__all__ = ["MemoryGroup", "memory_groups", "memory_ports", "memory_row"]


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


def memory_ports(memory: PlacedMemory) -> tuple[str, str]:
    """The number of its ports and the kind of its reads, to read: ``1w1r`` and ``synchronous``."""
    shape = memory.shape
    reads = "synchronous" if all(shape.reads) else "asynchronous"
    return f"{shape.writes}w{len(shape.reads)}r", reads
