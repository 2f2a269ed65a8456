"""The area and the clock of an engine, interpolated from measurements: codecs by lanes, and by queue, are those of the
records of the documents (``docs/results/records.json``); all else is in ``data/areas.json``.

Nothing is synthesised here, so that a search can ask thousands of times. Measured are codecs by lanes and bits of a word,
what a smaller queue saves and another window or code costs on 256 bits, and engines of 1 to 8 units with ports of 256 bits.
Three things are assumed: what is beside the codecs grows with the width of the ports, a queue, a window and a code change
the same part of a codec at every width, and a bit of memory has 0.93 GE (a cell of 0.37 square micrometres in 45 nm, half
of a macro being cells).
``cdma area engine --config`` measures a design that was chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from cdma.base.toml_table import Table, read_json
from cdma.hdl.spec.format import Format
from cdma.study.recorded import DATA

_BIT_GE = 0.93
#: Ports of the engines that were measured, and the beats of their read buffers.
_PORT_BITS, _READ_BEATS = 256, 512
_BLOCKS = ("compressor", "decompressor")
#: Window and bits of a code, and the queue, that all other measurements have.
_PLAIN, _QUEUE = (32, 1), 2


@dataclass(frozen=True)
class Size:
    """What a design takes: logic and memories, in thousands of gate equivalents, and the period of its clock."""

    logic_kge: float
    memory_kbit: float
    period_ns: float

    @property
    def area_kge(self) -> float:
        """Logic and memories together."""
        return self.logic_kge + _BIT_GE * self.memory_kbit


def size_of(lanes: int, format: Format, units: int, queue: int, read_beats: int) -> Size:
    """Returns the size of an engine whose ports are as wide as a beat of its codecs."""
    measured, word_bits = _measured(), format.word_bits
    engine, width = measured.engines[units], lanes * word_bits / _PORT_BITS
    window, code_bits = _PLAIN
    both, periods = 0.0, [engine.number("period_ns")]
    for block in _BLOCKS:
        codec = measured.codecs[block, lanes, word_bits]
        kind = measured.formats[block, format.window, format.code_bits]
        plain = measured.formats[block, window, code_bits]
        queues = measured.queues[block, queue] / measured.queues[block, _QUEUE]
        both += codec["kge"] * queues * kind.number("kge") / plain.number("kge")
        periods.append(codec["period_ns"] * kind.number("period_ns") / plain.number("period_ns"))
    buffers = 2 * units * (read_beats - _READ_BEATS) * lanes * word_bits / 1000
    memory = max(engine.number("memory_kbit") * width + buffers, 0.0)
    return Size(engine.number("beside_kge") * width + units * both, memory, max(periods))


def lanes_measured(word_bits: int) -> list[int]:
    """Returns the numbers of lanes that were measured with that word."""
    return sorted({lanes for _, lanes, bits in _measured().codecs if bits == word_bits})


def units_measured() -> list[int]:
    """Returns the numbers of units that were measured."""
    return sorted(_measured().engines)


def formats_measured() -> list[tuple[int, int]]:
    """Returns the windows and bits of a code that were measured."""
    return sorted({(window, code_bits) for _, window, code_bits in _measured().formats})


class _Measured(NamedTuple):
    codecs: Mapping[tuple[str, int, int], Mapping[str, float]]
    queues: Mapping[tuple[str, int], float]
    formats: Mapping[tuple[str, int, int], Table]
    engines: Mapping[int, Table]


@cache
def _measured() -> _Measured:
    table = read_json(DATA / "areas.json")
    text = (files("cdma") / "documents/docs/results/records.json").read_text(encoding="utf-8")
    figures = {name: record["figures"] for name, record in json.loads(text).items()}
    queues = {
        (row["block"], row["queue"]): row["kge"]
        for row in figures["queue"]
        if row["lanes"] == _PORT_BITS // 32
    }
    # Decompressors with 0 and 1 are the same.
    queues["decompressor", 1] = queues["decompressor", 0]
    return _Measured(
        {
            (block, row["axes"]["lanes"], row["axes"]["word_bits"]): row
            for block in _BLOCKS
            for row in figures[f"{block}-lanes"]
        },
        queues,
        {
            (row.text("block"), row.whole("window"), row.whole("code_bits")): row
            for row in table.rows("formats")
        },
        {row.whole("units"): row for row in table.rows("engines")},
    )
