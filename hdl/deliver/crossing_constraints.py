"""What timing tools must know of the paths between the clocks of an engine, by the names of the cells.

In: the ports. Out: lines of SDC or XDC. They are about the cells of :mod:`cdma.hdl.axi.port_crossing` and
:mod:`cdma.hdl.axi.lite_crossing`; there are no other paths between the clocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cdma.hdl.verilog.ports import Port

__all__ = ["crossing_lines"]


class _Fifo(NamedTuple):
    """A FIFO by its path, and the clocks of its writer and of its reader."""

    path: str
    writes: str
    reads: str


class _Level(NamedTuple):
    """A level: the register that it is from, and the synchroniser that it goes to."""

    source: str
    target: str
    clock: str


def _crossings(ports: Sequence[Port]) -> tuple[list[_Fifo], list[_Level]]:
    """The FIFOs and the levels of an engine."""
    clock = {port.name: port.clock for port in ports}
    core = next(clock[port.name] for port in ports if port.name.startswith("m_axi_dev"))
    fifos: list[_Fifo] = []
    levels: list[_Level] = []

    def link(path: str, bus: str) -> None:
        for level in ("down", "heard"):
            levels.append(_Level(f"{path}/core_end/{level}", f"{path}/bus_end/other_{level}_seen", bus))
            levels.append(_Level(f"{path}/bus_end/{level}", f"{path}/core_end/other_{level}_seen", core))

    if (host := clock["m_axi_host_awvalid"]) != core:
        link("host_crossing", host)
        fifos += [_Fifo(f"host_crossing/{name}", core, host) for name in ("ar", "aw", "w")]
        fifos += [_Fifo(f"host_crossing/{name}", host, core) for name in ("r", "b")]
    bus = clock.get("s_axil_awvalid", core)
    if bus != core:
        for half in ("reads", "writes"):
            link(f"register_crossing/{half}", bus)
            fifos.append(_Fifo(f"register_crossing/{half}/requests", bus, core))
            fifos.append(_Fifo(f"register_crossing/{half}/answers", core, bus))
        if "qreqn" in clock:
            levels.append(_Level("closing/asks", "closing/closes_seen", bus))
            levels.append(_Level("closing/rests_level", "closing/rests_seen", core))
    return fifos, levels


def crossing_lines(ports: Sequence[Port], *, vivado: bool) -> Iterator[str]:
    """The lines; none with a single clock."""
    fifos, levels = _crossings(ports)
    if not fifos:
        return
    yield "# Between the clocks. A count changes bit by bit; a word lies in its memory for long before it is read."
    only = "-datapath_only " if vivado else ""
    paths = []
    for path, writes, reads in fifos:
        for name, clock, side in (("written", reads, "write"), ("taken", writes, "read")):
            # The highest bit of an index is that of its Gray code: synthesis keeps either.
            paths.append((f"cells {{{path}/{side}_*}}", f"{path}/{name}_seen/first", clock, vivado))
        # From the memory: what that is made of has no name of its own.
        paths.append((f"clocks {writes}", f"{path}/output", reads, False))
    paths += [(f"cells {{{source}*}}", f"{target}/first", clock, False) for source, target, clock in levels]
    for source, target, clock, skew in paths:
        ends = f"-from [get_{source}] -to [get_cells {{{target}*}}]"
        yield f"set_max_delay {only}{ends} $period_{clock}"
        if not vivado:
            yield f"set_false_path -hold {ends}"
        if skew:
            yield f"set_bus_skew {ends} $period_{clock}"
    if any(path.startswith("register_crossing") for path, *_ in fifos):
        yield "set_false_path -to [get_cells {irq_synchroniser/first*}]"
        if any(port.name == "qactive" for port in ports):
            yield "# Asynchronous, because what comes may wake the clock that it is for."
            yield "set_false_path -to [get_ports qactive]"
