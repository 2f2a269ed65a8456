"""A short run of a block with streams as pictures: what is shown of it, and the lanes of its diagram."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vcd.gtkw import GTKWColor

from cdma.verif.simulator.page import Box, Event, Group, Line, Row, Tensor, View, lines_of
from cdma.verif.simulator.passage import (
    Beat,
    Cycle,
    inside_groups,
    level_lines,
    number_lanes,
    packet_lanes,
    packet_row,
    packets_of,
)
from cdma.verif.simulator.vcd_trace import Trace

#: The streams that there may be, and the colours of their signals.
_COLORS = {
    "s_axis": GTKWColor.green,
    "s_length": GTKWColor.yellow,
    "m_axis": GTKWColor.blue,
    "m_report": GTKWColor.orange,
}
_FIELDS = ("tvalid", "tready", "tlast", "tkeep", "tdata")


def stream_view(
    trace: Trace,
    titles: Mapping[str, str],
    rows: Mapping[str, Sequence[Row]],
    first: Sequence[Line] = (),
    tensors: Sequence[Tensor] = (),
) -> View:
    """The clock, the lines ``first``, streams with their rows and the levels between them, the events of packets, and
    closed groups of all inside."""
    clock = Group("", [*lines_of(trace, ("aclk", "aresetn")), *first])
    levels = Group("inside: levels", level_lines(trace, "core"))
    streams = [_stream(trace, prefix, title, rows) for prefix, title in titles.items()]
    into = [group for prefix, group in zip(titles, streams, strict=True) if prefix.startswith("s_")]
    out = [group for prefix, group in zip(titles, streams, strict=True) if prefix.startswith("m_")]
    shown = [group for group in (clock, *into, levels, *out, *inside_groups(trace)) if group.lines]
    packets = {prefix: packets_of(trace.cycles, prefix) for prefix in titles}
    return View(shown, _events(packets, rows), _markers(packets), tensors)


def report_row(
    packets: Sequence[Sequence[Beat]], spell: Callable[[int], str], error: Callable[[int], str]
) -> Row:
    """A box for each report; ``error`` says what is wrong, if anything is."""
    boxes = []
    for (report,) in packets:
        wrong = error(report.data)
        boxes.append(
            Box(report.first, report.cycle, wrong or spell(report.data), spell(report.data), bool(wrong))
        )
    return Row("reports", boxes)


def _stream(trace: Trace, prefix: str, title: str, rows: Mapping[str, Sequence[Row]]) -> Group:
    names = [f"{prefix}_{field}" for field in _FIELDS]
    lines = [
        *lines_of(trace, names[:-1], _COLORS[prefix]),
        *lines_of(trace, names[-1:], _COLORS[prefix], "dec" if prefix == "s_length" else "hex"),
    ]
    packets = packets_of(trace.cycles, prefix)
    own = [packet_row(packets)] if prefix.endswith("_axis") and packets else []
    return Group(title, lines, rows=[*own, *rows.get(prefix, ())])


def _events(
    packets: Mapping[str, Sequence[Sequence[Beat]]], rows: Mapping[str, Sequence[Row]]
) -> list[Event]:
    """The ends of each packet on both sides, and its report; a window that is corrupt, and the report because of it."""
    events = []
    for prefix, verb in (("s_axis", "in"), ("m_axis", "out")):
        for number, packet in enumerate(packets[prefix], 1):
            events.append(Event(packet[0].cycle, f"packet {number}: first beat {verb}"))
            events.append(Event(packet[-1].cycle, f"packet {number}: last beat {verb}"))
    wrong = [
        Event(box.last, box.text, True)
        for prefix in ("s_axis", "m_axis")
        for row in rows.get(prefix, ())
        for box in row.boxes
        if box.error
    ]
    for row in rows.get("m_report", ()):
        for number, box in enumerate(row.boxes, 1):
            before = [event for event in wrong if event.cycle <= box.last]
            cause = before[-1] if box.error and before else None
            events.append(Event(box.last, f"report {number}: {box.text}", box.error, cause))
    return [*events, *wrong]


def _markers(packets: Mapping[str, Sequence[Sequence[Beat]]]) -> dict[str, int]:
    """The first and the last beat of both sides."""
    ends = (("s_axis", "in"), ("m_axis", "out"))
    first = {f"first beat {verb}": packets[prefix][0][0].cycle for prefix, verb in ends if packets[prefix]}
    last = {f"last beat {verb}": packets[prefix][-1][-1].cycle for prefix, verb in ends if packets[prefix]}
    return first | last


def diagram(
    cycles: Sequence[Cycle],
    text: str,
    spell: Mapping[str, Callable[..., str]],
    *first: Mapping[str, str | Sequence[str]],
    scale: int,
) -> dict[str, object]:
    """The WaveDrom source: the clock, the lanes ``first``, and each stream with a function in ``spell``.

    The function gets data, keep and last of a beat; of a stream without packets, the number.
    """
    signal: list[object] = [{"name": "aclk", "wave": "p" + "." * (len(cycles) - 1)}, *first]
    for prefix, spelt in spell.items():
        lanes = packet_lanes if prefix.endswith("_axis") else number_lanes
        signal += [{}, [prefix, *lanes(cycles, prefix, spelt)]]
    head = {"text": f"{text}; cycle numbers below"}
    return {"signal": signal, "config": {"hscale": scale}, "head": head, "foot": {"tick": 0}}
