"""How much of what its ports allow an engine with several units reaches, from cycles that were counted on the RTL.

An engine cannot move a tensor faster than its host port takes the compressed bytes, nor than the ports of all units together
take the raw ones. ``data/unit_cycles.json`` has the cycles that engines took beside that bound, which
``cdma study model measure units`` writes under Verilator.

The time that the engine and its codec take, from cycles that were counted on the RTL.

The codec is work-conserving: a window keeps it busy for as long as the longer of its two sides takes to pass. So a
packet takes ::

    cycles = per_beat * sum over windows of max(words in, words out) / lanes + per_packet

in either direction. A whole engine between two memories moves tensors back to back in ::

    cycles = per_beat * beats + per_latency * latency + start

where beats are those of the busiest of device port, codec and host port, and latency is the memories' in
cycles. The constants are not assumed: they are fitted by least squares to ``data/engine_cycles.json``, which
``cdma study model measure engine`` writes under Verilator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cdma.base.toml_table import Table, TableError, read_json
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.study.recorded import DATA

from .machine import Engine


@dataclass(frozen=True)
class UnitShares:
    """The shares of one direction: by number of units, points of density and share, of rising densities."""

    points: Mapping[int, tuple[Sequence[float], Sequence[float]]]

    def at(self, units: int, density: float) -> float:
        """Returns the share that so many units reach. Between two measured densities or numbers of units it is that of a
        straight line, and outside of them that of the nearest."""
        counts = sorted(self.points)
        shares = [float(np.interp(density, *self.points[count])) for count in counts]
        return float(np.interp(units, counts, shares))


def fit_shares(rows: Sequence[Table], laws: Mapping[str, EngineLaw]) -> Mapping[str, UnitShares]:
    """Returns the shares by direction, from rows of ``cdma bench units`` and the ``laws`` of engines with one unit.

    A row has ``direction``, ``units``, ``density``, ``memory_latency``, ``bound`` and ``cycles``. Those count whose
    ``pattern`` of literals is the one of tensors, scattered. What the law says that start and end take is left out, since
    the model adds it to each transfer.
    """
    found: dict[str, dict[int, dict[float, float]]] = {direction: {} for direction in DIRECTIONS}
    for row in rows:
        if row.text("pattern") != "scattered":
            continue
        direction = CODEC_DIRECTIONS[row.choice("direction", tuple(CODEC_DIRECTIONS))]
        start = laws[direction].start_up(row.number("memory_latency", least=0))
        busy = row.number("cycles", above=0) - start
        bound = row.number("bound", above=0)
        if busy <= 0:
            raise TableError(
                f"the measured cycles of several units have {bound + busy:g} cycles in a row, no more than start and end"
            )
        of_count = found[direction].setdefault(row.whole("units"), {})
        of_count[row.number("density", least=0, most=1)] = min(bound / busy, 1.0)
    for direction, counts in found.items():
        if not counts:
            raise TableError(f"the measured cycles of several units have no row of direction {direction!r}")
    return {
        direction: UnitShares(
            {
                count: (sorted(shares), [shares[density] for density in sorted(shares)])
                for count, shares in counts.items()
            }
        )
        for direction, counts in found.items()
    }


@cache
def measured_shares() -> Mapping[str, UnitShares]:
    """The shares from the rows that come with the package."""
    return fit_shares(read_json(DATA / "unit_cycles.json").rows("units"), measured_engine_laws())


#: Device to host, and back.
DIRECTIONS = ("compress", "decompress")

#: What the codec does in each direction of an engine.
CODEC_DIRECTIONS = dict(zip(("offload", "prefetch"), DIRECTIONS, strict=True))
_MEASURED = DATA / "engine_cycles.json"


@dataclass(frozen=True)
class EngineLaw:
    """The constants of a whole engine in one direction."""

    per_beat: float
    per_latency: float
    start: float

    def cycles(self, beats: float, latency: float) -> float:
        """Returns clock cycles from the first address of the data to the last answer."""
        return self.per_beat * beats + self.start_up(latency)

    def start_up(self, latency: float) -> float:
        """Returns the cycles that do not depend on how much is moved."""
        return self.per_latency * latency + self.start


@dataclass(frozen=True)
class CycleLaw:
    """The constants of the codec in one direction."""

    per_beat: float
    per_packet: float

    def cycles(self, work_words: float, lanes: int) -> float:
        """Returns clock cycles of a packet whose windows together have ``work_words`` on their longer sides."""
        return self.per_beat * work_words / lanes + self.per_packet


def scattered_work(density: float, format: StreamFormat) -> float:
    """Returns words on the longer side of a window per raw word, on average over literals at independent positions."""
    count = np.arange(format.window + 1)
    longer = np.maximum(format.window, format.header_words + count)
    return float((_binomial(format.window, density) * longer).sum() / format.window)


def unit_bytes_per_s(engine: Engine, direction: str, density: float) -> float:
    """Returns raw bytes per second of all units of an engine together, on long tensors."""
    codec = engine.codec
    law = measured_laws()[direction]
    words_per_cycle = codec.lanes / (law.per_beat * scattered_work(density, codec.format))
    return engine.units * engine.clock_hz * words_per_cycle * codec.format.word_bits / 8


def _binomial(trials: int, chance: float) -> NDArray[np.float64]:
    """Returns the probabilities of 0 to ``trials`` successes."""
    weights = np.ones(trials + 1)
    for count in range(1, trials + 1):
        weights[count] = weights[count - 1] * (trials - count + 1) / count
    successes = np.arange(trials + 1)
    return weights * chance**successes * (1 - chance) ** (trials - successes)


def fit(rows: Sequence[Table]) -> Mapping[str, CycleLaw]:
    """Fits the laws of both directions to measured rows, each of one packet of scattered literals.

    A row has ``direction``, ``word_bits``, ``lanes``, ``window``, ``density``, ``in_beats``, ``out_beats``
    and ``cycles``.
    """
    points: dict[str, list[tuple[float, float]]] = {direction: [] for direction in DIRECTIONS}
    for row in rows:
        direction = row.choice("direction", DIRECTIONS)
        format = Format(word_bits=row.whole("word_bits"), window=row.whole("window"))
        config = CodecConfig(format, row.whole("lanes"))
        raw_beats = row.whole("in_beats" if direction == "compress" else "out_beats")
        beats = raw_beats * scattered_work(row.number("density", least=0, most=1), config.format)
        points[direction].append((beats, row.number("cycles", above=0)))
    return {direction: _line(direction, points[direction]) for direction in DIRECTIONS}


def _line(direction: str, points: list[tuple[float, float]]) -> CycleLaw:
    if len({beats for beats, _ in points}) < 2:
        raise TableError(
            f"the measured cycles have fewer than two different loads of direction {direction!r}"
        )
    beats, cycles = np.array(points).T
    design = np.stack([beats, np.ones_like(beats)], axis=1)
    per_beat, per_packet = np.linalg.lstsq(design, cycles, rcond=None)[0].tolist()
    if per_beat < 1:
        # No beat takes less than a cycle; a smaller slope is scatter of the constant part.
        per_beat, per_packet = 1.0, float((cycles - beats).mean())
    return CycleLaw(per_beat, per_packet)


def fit_engine(rows: Sequence[Table]) -> Mapping[str, EngineLaw]:
    """Fits the laws of whole engines to measured rows, each of some tensors of scattered literals, back to back.

    A row has ``direction`` (``offload`` or ``prefetch``), ``bytes`` and ``descriptors``, ``density``,
    ``memory_latency``, ``cycles``, ``port_bytes`` of both ports, and ``word_bits``; its codec is no narrower
    than its ports.
    """
    points: dict[str, list[tuple[float, float, float]]] = {direction: [] for direction in DIRECTIONS}
    for row in rows:
        direction = CODEC_DIRECTIONS[row.choice("direction", tuple(CODEC_DIRECTIONS))]
        raw = row.whole("bytes") * row.whole("descriptors") / row.whole("port_bytes")
        work = scattered_work(
            row.number("density", least=0, most=1), Format(word_bits=row.whole("word_bits"))
        )
        latency = row.number("memory_latency", least=0)
        points[direction].append((raw * work, latency, row.number("cycles", above=0)))
    return {direction: _engine_law(direction, points[direction]) for direction in DIRECTIONS}


def _engine_law(direction: str, points: list[tuple[float, float, float]]) -> EngineLaw:
    if len({beats for beats, _, _ in points}) < 2 or len({latency for _, latency, _ in points}) < 2:
        raise TableError(
            "the measured cycles of the engine have fewer than two different loads and latencies of "
            f"direction {direction!r}"
        )
    beats, latency, cycles = np.array(points).T
    ones = np.ones_like(beats)
    per_beat, per_latency, start = np.linalg.lstsq(
        np.stack([beats, latency, ones], axis=1), cycles, rcond=None
    )[0].tolist()
    if per_beat < 1:
        per_beat = 1.0
        rest = np.stack([latency, ones], axis=1)
        per_latency, start = np.linalg.lstsq(rest, cycles - beats, rcond=None)[0].tolist()
    return EngineLaw(per_beat, per_latency, start)


@cache
def measured_engine_laws() -> Mapping[str, EngineLaw]:
    """The laws of whole engines, from the rows that come with the package."""
    return fit_engine(read_json(_MEASURED).rows("engine"))


@cache
def measured_laws() -> Mapping[str, CycleLaw]:
    """The laws of the codec, from the rows that come with the package."""
    return fit(read_json(_MEASURED).rows("codec"))
