"""The memories of a design as rows of a list, and what each is for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .printer.design import PlacedMemory

__all__ = ["memory_groups", "memory_ports", "memory_row", "purpose_of"]


def purpose_of(path: str, purposes: Mapping[str, str]) -> str:
    """What the memory at ``path`` is for: the first of ``purposes`` whose pattern matches the end of the path."""
    return next((text for pattern, text in purposes.items() if re.search(rf"(?:^|\.){pattern}$", path)), "")


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


def memory_ports(memory: PlacedMemory) -> tuple[str, str]:
    """The number of its ports and the kind of its reads, to read: ``1w1r`` and ``synchronous``."""
    shape = memory.shape
    reads = "synchronous" if all(shape.reads) else "asynchronous"
    return f"{shape.writes}w{len(shape.reads)}r", reads


def memory_groups(memories: Sequence[PlacedMemory]) -> list[tuple[PlacedMemory, int]]:
    """One memory of each purpose and shape with the number of those like it; those with the most bits first."""
    groups: dict[tuple[object, ...], list[PlacedMemory]] = {}
    for memory in memories:
        groups.setdefault((memory.shape, memory.purpose), []).append(memory)
    result = [(group[0], len(group)) for group in groups.values()]
    return sorted(result, key=lambda group: -group[0].bits * group[1])
