"""A short, telling run of a block with streams as pictures: the groups of its save file, and the lanes of its diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from vcd.gtkw import GTKWColor

from cdma.verif.simulator.stream_lanes import Cycle, inside_groups, number_lanes, packet_lanes
from cdma.verif.simulator.vcd_trace import Scope
from cdma.verif.simulator.waveform import Group, top_line

__all__ = ["diagram", "groups"]

#: The streams that there may be, and the colours of their signals.
_COLORS = {
    "s_axis": GTKWColor.green,
    "s_length": GTKWColor.yellow,
    "m_axis": GTKWColor.blue,
    "m_report": GTKWColor.orange,
}
_FIELDS = ("tvalid", "tready", "tlast", "tkeep", "tdata")


def groups(
    top: Scope, titles: Mapping[str, str], *first: Group, after: Sequence[Group] = ()
) -> Iterator[Group]:
    """The clock, the groups ``first``, the streams under their titles, those ``after``, and closed groups of all inside."""
    yield Group("", [top_line(top, signal) for signal in ("aclk", "aresetn")])
    yield from first
    for prefix, title in titles.items():
        names = [f"{prefix}_{field}" for field in _FIELDS]
        lines = [
            top_line(top, name, _COLORS[prefix], "dec" if name == "s_length_tdata" else "hex")
            for name in names
            if name in top.signals
        ]
        if lines:
            yield Group(title, lines)
    yield from after
    yield from inside_groups(top)


def diagram(
    cycles: Sequence[Cycle],
    text: str,
    spell: Mapping[str, Callable[..., str]],
    *first: Mapping[str, str | Sequence[str]],
    scale: int,
) -> dict[str, object]:
    """The WaveDrom source: the clock, the lanes ``first``, and each stream that there is a function to spell for.

    The function gets data, keep and last of a beat; of a stream without packets, the number.
    """
    signal: list[object] = [{"name": "aclk", "wave": "p" + "." * (len(cycles) - 1)}, *first]
    for prefix, spelt in spell.items():
        lanes = packet_lanes if prefix.endswith("_axis") else number_lanes
        signal += [{}, [prefix, *lanes(cycles, prefix, spelt)]]
    head = {"text": f"{text}; cycle numbers below"}
    return {"signal": signal, "config": {"hscale": scale}, "head": head, "foot": {"tick": 0}}
