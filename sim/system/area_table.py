"""The area and the clock of an engine, interpolated from the measured tables of the documents (``data/areas.json``).

Nothing is synthesised here, so that a search can ask thousands of times. Measured are codecs by lanes and bits of a word,
what a smaller queue saves on 256 bits, and engines of 1 to 8 units with ports of 256 bits. Three things are assumed: what
is beside the codecs grows with the width of the ports, a smaller queue saves the same part of a codec at every width, and a
bit of memory has 0.93 GE (a cell of 0.37 square micrometres in 45 nm, half of a macro being cells).
``cdma area engine --config`` measures a design that was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from cdma.sim.support.data import DATA
from cdma.sim.support.toml_table import Table, read_json

__all__ = ["Size", "lanes_measured", "size_of", "units_measured"]

_BIT_GE = 0.93
#: Ports of the engines that were measured, and the beats of their read buffers.
_PORT_BITS, _READ_BEATS = 256, 512
_BLOCKS = ("compressor", "decompressor")


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


def size_of(lanes: int, word_bits: int, units: int, queue: int, read_beats: int) -> Size:
    """Returns the size of an engine whose ports are as wide as a beat of its codecs."""
    codecs, queues, engines = _measured()
    engine, width = engines[units], lanes * word_bits / _PORT_BITS
    both = sum(
        codecs[block, lanes, word_bits].number("kge") * queues[block, queue] / queues[block, 2]
        for block in _BLOCKS
    )
    periods = [codecs[block, lanes, word_bits].number("period_ns") for block in _BLOCKS]
    buffers = 2 * units * (read_beats - _READ_BEATS) * lanes * word_bits / 1000
    memory = max(engine.number("memory_kbit") * width + buffers, 0.0)
    return Size(
        engine.number("beside_kge") * width + units * both, memory, max(engine.number("period_ns"), *periods)
    )


def lanes_measured(word_bits: int) -> list[int]:
    """Returns the numbers of lanes that were measured with that word."""
    return sorted({lanes for _, lanes, bits in _measured()[0] if bits == word_bits})


def units_measured() -> list[int]:
    """Returns the numbers of units that were measured."""
    return sorted(_measured()[2])


@cache
def _measured() -> tuple[
    Mapping[tuple[str, int, int], Table], Mapping[tuple[str, int], float], Mapping[int, Table]
]:
    table = read_json(DATA / "areas.json")
    return (
        {
            (row.text("block"), row.whole("lanes"), row.whole("word_bits")): row
            for row in table.rows("codecs")
        },
        {(row.text("block"), row.whole("queue", least=0)): row.number("kge") for row in table.rows("queues")},
        {row.whole("units"): row for row in table.rows("engines")},
    )
