"""Streams of a run as pictures: words that pass a port, the lanes of a timing diagram, groups of signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from vcd.gtkw import GTKWColor

from cdma.hdl.spec.format import StreamFormat
from cdma.sim.codec.model import CorruptStream, Window, model_of, places_of, windows_of
from cdma.sim.codec.words import Words

from .page import Box, Group, Line, Row, Tensor, lines_of
from .vcd_trace import Trace
from .waveform import levels

#: Words of a line of the details of a window.
_ACROSS = 4


@dataclass(frozen=True)
class Passage:
    """Words, each with the cycle in which it passed; -1 for never."""

    words: Words
    cycles: NDArray[np.int64]

    def size(self, bits: int) -> int:
        return -(-len(self.words) * bits // 8)


def corruption(stream: Words, words: int, format: StreamFormat) -> CorruptStream | None:
    """The error of a stream of ``words`` words, if any."""
    try:
        model_of(format).decompressed(stream, words, format)
    except CorruptStream as error:
        return error
    return None


def window_boxes(
    stream: Passage, raw: Words, words: int, format: StreamFormat, error: CorruptStream | None = None
) -> list[Box]:
    """A box for each window of a stream, with its header and its words; ``raw`` are those of the ``words`` words that are
    known."""
    stored = model_of(format).stored(raw, format)
    boxes = []
    for number, window in enumerate(windows_of(stream.words, words, format)):
        passed = stream.cycles[window.start : window.end]
        passed = passed[passed >= 0]
        if not len(passed):
            continue
        # What is missing at the end is the last window's fault.
        end = window.end if window.end < len(stream.words) else len(stream.words) + 1
        wrong = error is not None and window.start <= error.word < end
        span = slice(window.first, window.first + window.words)
        known = _words(window.first, raw[span], stored[span], format.word_bits)
        details = [
            f"words {window.first} to {window.first + window.words - 1}, {window.stored} stored",
            f"header {_header(stream.words, window, format)}",
            *([f"CORRUPT: {error}"] if wrong else []),
            *(
                known
                or [" ".join(_hex(word, format.stream_bits) for word in _literals(stream.words, window))]
            ),
        ]
        text = f"window {number}: " + (
            f"corrupt, {error.kind}" if error and wrong else f"{window.stored}/{window.words}"
        )
        boxes.append(Box(int(passed.min()), int(passed.max()), text, "\n".join(details), error=wrong))
    if error is not None and boxes and not any(box.error for box in boxes):
        at = int(stream.cycles[min(error.word, len(stream.cycles) - 1)])
        boxes.append(Box(at, at, f"corrupt: {error.kind}", str(error), error=True))
    return boxes


def _header(stream: Words, window: Window, format: StreamFormat) -> str:
    words = stream[window.start : window.start + window.header]
    return " ".join(_hex(word, format.stream_bits) for word in words) or "none"


def _literals(stream: Words, window: Window) -> Words:
    start = window.start + window.header
    return stream[start : start + window.stored]


def _words(first: int, raw: Words, stored: NDArray[np.bool_], bits: int) -> list[str]:
    """Lines of words: those that are stored in full, and what the header says of the others in brackets."""
    spelt = [_hex(word, bits) if kept else f"({int(word):x})" for word, kept in zip(raw, stored, strict=True)]
    width = max(map(len, spelt), default=0)
    return [
        f"{first + at:>5}  " + " ".join(word.rjust(width) for word in spelt[at : at + _ACROSS])
        for at in range(0, len(spelt), _ACROSS)
    ]


def _hex(word: int, bits: int) -> str:
    return f"{int(word):0{-(-bits // 4)}x}"


def compressed_tensor(
    title: str,
    places: tuple[str, str, str],
    raw: Passage,
    stream: Passage,
    format: StreamFormat,
    *,
    compresses: bool,
) -> Tensor:
    """A tensor that is compressed or decompressed on its way. A word that is not stored moves with its window's header."""
    at = places_of(raw.words, stream.words, format)
    moved = np.where(at >= 0, stream.cycles[at] if len(stream.cycles) else -1, -1)
    entered, left = (raw.cycles, moved) if compresses else (moved, raw.cycles)
    plain, coded = raw.size(format.word_bits), stream.size(format.stream_bits)
    return Tensor(
        title,
        places,
        [_hex(word, format.word_bits) for word in raw.words],
        entered.tolist(),
        left.tolist(),
        model_of(format).stored(raw.words, format).tolist(),
        (plain, coded) if compresses else (coded, plain),
    )


def copied_tensor(
    title: str, places: tuple[str, str, str], taken: Passage, given: Sequence[int], bits: tuple[int, int]
) -> Tensor:
    """A tensor whose words each go out in some cycle as they came in, or as another number, of so many ``bits`` each."""
    spelt = [_hex(word, bits[0]) for word in taken.words]
    sizes = taken.size(bits[0]), taken.size(bits[1])
    return Tensor(title, places, spelt, taken.cycles.tolist(), list(given), [True] * len(spelt), sizes)


#: The values of all ports in one clock cycle.
Cycle = dict[str, int]

#: What signals are called that say how full something is, and how much may still be sent. What a packer has placed and not
#: put out is ``placed_remaining``.
_LEVELS, _CREDITS = ("level", "held", "free", "in_flight", "placed_remaining"), ("credit",)


def busy_cycles(trace: Trace, sources: Sequence[str], sinks: Sequence[str]) -> list[Cycle]:
    """The cycles from just before the first valid of a source to just after the last one of a sink."""
    first = next(
        index for index, cycle in enumerate(trace.cycles) if any(cycle.get(name) for name in sources)
    )
    final = max(index for index, cycle in enumerate(trace.cycles) if any(cycle.get(name) for name in sinks))
    return list(trace.cycles[first - 2 : final + 2])


def packet_lanes(
    cycles: Sequence[Cycle], prefix: str, spell: Callable[[int, int, bool], str]
) -> list[object]:
    """The lanes of a stream of packets; ``spell`` gets data, keep and last of a beat."""

    def label(cycle: Cycle) -> str:
        data, keep, last = (cycle[f"{prefix}_{field}"] for field in ("tdata", "tkeep", "tlast"))
        return spell(data, keep, bool(last))

    ends = [cycle[f"{prefix}_tlast"] & cycle[f"{prefix}_tvalid"] for cycle in cycles]
    return [
        *_handshake(cycles, prefix),
        _payload(cycles, prefix, label),
        {"name": "tlast", "wave": levels(ends)},
    ]


def number_lanes(cycles: Sequence[Cycle], prefix: str, spell: Callable[[int], str]) -> list[object]:
    """The lanes of a stream of numbers, without packets."""

    def label(cycle: Cycle) -> str:
        return spell(cycle[f"{prefix}_tdata"])

    return [*_handshake(cycles, prefix), _payload(cycles, prefix, label)]


def inside_groups(trace: Trace) -> Iterator[Group]:
    scopes: dict[str, list[str]] = {}
    for path in trace.signals:
        scope, _, name = path.rpartition(".")
        if scope and name not in ("aclk", "clk", "rst") and not name.isupper():
            scopes.setdefault(scope, []).append(path)
    for scope, paths in sorted(scopes.items()):
        yield Group(f"inside {scope}", lines_of(trace, sorted(paths), GTKWColor.violet), closed=True)


def level_lines(trace: Trace, scope: str) -> list[Line]:
    """What fills and empties inside an instance: levels as analogue traces, credits as numbers, and states by name."""
    inside = [path for path in trace.signals if path.startswith(f"{scope}.")]
    states = [path for path in inside if path.endswith(".fsm_state")]
    levels = [path for path in inside if path.rpartition(".")[2] in _LEVELS and trace.signals[path].bits > 1]
    credits = [path for path in inside if path.rpartition(".")[2] in _CREDITS]
    return [
        *lines_of(trace, states, GTKWColor.orange, within=f"{scope}."),
        *lines_of(trace, levels, GTKWColor.violet, "analog", within=f"{scope}."),
        *lines_of(trace, credits, GTKWColor.violet, "dec", within=f"{scope}."),
    ]


def _handshake(cycles: Sequence[Cycle], prefix: str) -> list[dict[str, str]]:
    return [
        {"name": field, "wave": levels([cycle[f"{prefix}_{field}"] for cycle in cycles])}
        for field in ("tvalid", "tready")
    ]


def _payload(cycles: Sequence[Cycle], prefix: str, label: Callable[[Cycle], str]) -> dict[str, object]:
    """One lane with a box per transfer, which lasts as long as it waits for ready."""
    wave, labels, waiting = "", [], False
    for cycle in cycles:
        if not cycle[f"{prefix}_tvalid"]:
            wave += "." if wave and wave.rstrip(".")[-1:] == "x" else "x"
            waiting = False
            continue
        if waiting:
            wave += "."
        else:
            wave += "="
            labels.append(label(cycle))
        waiting = not cycle[f"{prefix}_tready"]
    return {"name": "tdata", "wave": wave, "data": labels}


@dataclass(frozen=True)
class Beat:
    """One transfer of a stream: from the cycle in which it is offered to the one in which it is taken."""

    first: int
    cycle: int
    data: int
    keep: int
    last: bool


def packets_of(cycles: Sequence[Cycle], prefix: str) -> list[list[Beat]]:
    """The beats of each packet of a stream; those of the last one may be too few. A stream without packets has one each."""
    packets: list[list[Beat]] = [[]]
    offered = None
    for number, cycle in enumerate(cycles):
        if not cycle.get(f"{prefix}_tvalid"):
            continue
        offered = number if offered is None else offered
        if cycle[f"{prefix}_tready"]:
            last = bool(cycle.get(f"{prefix}_tlast", 1))
            beat = Beat(offered, number, cycle[f"{prefix}_tdata"], cycle.get(f"{prefix}_tkeep", 0), last)
            packets[-1].append(beat)
            offered = None
            if last:
                packets.append([])
    return [packet for packet in packets if packet]


def packet_row(packets: Sequence[Sequence[Beat]]) -> Row:
    """A box for each packet."""
    return Row(
        "packets",
        [
            Box(
                packet[0].first,
                packet[-1].cycle,
                f"packet {number}: {len(packet)} beats",
                beats=[beat.cycle for beat in packet],
            )
            for number, packet in enumerate(packets, 1)
        ],
    )


def beat_row(packets: Sequence[Sequence[Beat]], spell: Callable[[Beat], str]) -> Row:
    """A box for each beat, from the cycle in which it is offered."""
    return Row("beats", [Box(beat.first, beat.cycle, spell(beat)) for packet in packets for beat in packet])
