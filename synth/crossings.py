"""Paths between clocks in a netlist, and whether each is in a cell that is made for it.

In: a flat module of flip-flops and gates of one bit, with memories whole. Out: a sentence for each path that is not. Two
cells are: the first flip-flop of a synchroniser, straight from a flip-flop; and the output of a FIFO between two clocks,
from its own memory.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any

from .paths import drivers_of

__all__ = ["wrong_crossings"]

_FIRST = re.compile(r"(_seen|_synchroniser)\.first$")
#: The output of a FIFO, whose memory is ``path.memory``.
_OUTPUT = re.compile(r"^(?P<path>.*)\.output_\w+$")


def wrong_crossings(
    cells: Collection[Mapping[str, Any]],
    netnames: Mapping[str, Any],
    names: Mapping[Any, str],
    clocks: Mapping[Any, str],
) -> Iterator[str]:
    """A sentence for each flip-flop, and for each port of a memory, that another clock reaches by an unknown way.

    ``netnames``, ``names``
        All names of the bits, as Yosys writes them, and one for each.
    ``clocks``
        The port that clocks what has a bit for its clock: behind a gate it is the one before it.
    """
    called: dict[Any, list[str]] = defaultdict(list)
    for name, net in netnames.items():
        for bit in net["bits"]:
            called[bit].append(name)
    #: Of each bit, what holds it: the clock, and the flip-flop or the memory that it is in.
    stored: dict[Any, tuple[Any, str]] = {}
    for cell in cells:
        connections = cell["connections"]
        if _is_register(cell):
            stored[connections["Q"][0]] = clocks.get(connections["C"][0]), names[connections["Q"][0]]
    drivers = drivers_of(cells)
    reached: dict[Any, frozenset[tuple[Any, str]]] = defaultdict(frozenset)
    reached |= {bit: frozenset([origin]) for bit, origin in stored.items()}
    for cell in cells:
        if cell["type"].startswith("$mem") and len(cell["connections"]["WR_CLK"]):
            origin = clocks.get(cell["connections"]["WR_CLK"][0]), cell["parameters"]["MEMID"].lstrip("\\")
            for bit in _read_at_once(cell):
                reached[bit] |= {origin}
    for bit in TopologicalSorter(drivers).static_order():
        for source in drivers.get(bit, ()):
            reached[bit] |= reached[source]
    for cell in cells:
        for clock, bits, target in _inputs(cell, names):
            aliases = called[cell["connections"]["Q"][0]] if _is_register(cell) else []
            for bit in bits:
                foreign = {origin for origin in reached[bit] if origin[0] != clocks.get(clock)}
                if foreign and not any(_is_known(name, bit, foreign, stored) for name in aliases):
                    said = sorted(source for _, source in foreign)
                    yield f"{said[0]} reaches {target}, which has another clock, by no cell for it"


def _is_known(name: str, bit: Any, foreign: set[tuple[Any, str]], stored: Mapping[Any, Any]) -> bool:
    """Whether a path ends in one of the two cells, and begins where it may."""
    if _FIRST.search(name):
        return bit in stored
    if (output := _OUTPUT.match(name)) is None:
        return False
    return all(source.startswith(f"{output['path']}.memory") for _, source in foreign)


def _is_register(cell: Mapping[str, Any]) -> bool:
    return cell["type"].startswith(("$_DFF", "$_SDFF", "$_ALDFF"))


def _read_at_once(cell: Mapping[str, Any]) -> list[Any]:
    """The bits that are read without a clock."""
    parameters = cell["parameters"]
    width, clocked = int(parameters["WIDTH"], 2), int(parameters["RD_CLK_ENABLE"], 2)
    data = cell["connections"]["RD_DATA"]
    return [bit for place, bit in enumerate(data) if not clocked >> place // width & 1]


def _inputs(cell: Mapping[str, Any], names: Mapping[Any, str]) -> Iterator[tuple[Any, list[Any], str]]:
    """A clock, the bits that it takes in, and a name for where."""
    connections = cell["connections"]
    if _is_register(cell):
        bits = [bit for pin, some in connections.items() if pin not in ("C", "Q") for bit in some]
        yield connections["C"][0], bits, names[connections["Q"][0]]
    elif cell["type"].startswith("$mem"):
        target = cell["parameters"]["MEMID"].lstrip("\\")
        for clock in connections["WR_CLK"][:1]:
            yield clock, [bit for pin in ("WR_ADDR", "WR_DATA", "WR_EN") for bit in connections[pin]], target
        clocked = int(cell["parameters"]["RD_CLK_ENABLE"], 2)
        if clocked:
            yield connections["RD_CLK"][0], [*connections["RD_ADDR"], *connections["RD_EN"]], target
