"""One design of the engine, what it costs, and how long a network trains with it; the objective of a search over designs.

Area and clock are interpolated from measurements: codecs by lanes, and by queue, are those of the records of the documents
(``docs/results/records.json``); all else is in ``data/areas.json``. Nothing is synthesised here, so that a search can ask
thousands of times. Measured are codecs by lanes and bits of a word, what a smaller queue saves and another window or code
costs on 256 bits, and engines of 1 to 8 units with ports of 256 bits. Three things are assumed: what is beside the codecs
grows with the width of the ports, a queue, a window and a code change the same part of a codec at every width, and a bit of
memory has 0.93 GE (a cell of 0.37 square micrometres in 45 nm, half of a macro being cells).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from cdma.base.errors import CdmaError
from cdma.base.toml_table import Table, read_json
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.study.recorded import DATA
from cdma.study.tuner.search import Space

from .density_table import load_densities, with_transformer
from .layers import NUMBER_BYTES
from .machine import Engine, load_assumptions, load_link, load_machine
from .model import Model
from .networks import load_network

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


_BURST_BEATS = EngineConfig.burst_beats


@dataclass(frozen=True)
class Design:
    """The parameters that are searched."""

    lanes: int
    word_bits: int
    window: int
    code_bits: int
    units: int
    queue: int
    outstanding: int
    read_buffer_beats: int

    def settings(self) -> dict[str, Any]:
        """Returns what ``cdma generate engine --config`` takes."""
        width = self.lanes * self.word_bits
        return {**asdict(self), "dev_data_bits": width, "host_data_bits": width}

    def config(self) -> EngineConfig:
        """Returns the configuration; raises :class:`CdmaError` if there is no such engine."""
        return EngineConfig.from_settings(self.settings())

    @property
    def format(self) -> Format:
        """The format of its codecs."""
        return Format(self.word_bits, self.window, self.code_bits)


@dataclass(frozen=True)
class Limits:
    """What a design must keep."""

    area_kge: float
    clock_ghz: float


@dataclass(frozen=True)
class Evaluation:
    """What became of a design; ``step_s`` is that of the policy ``cdma``, averaged over the training."""

    area_kge: float
    clock_ghz: float
    step_s: float

    def keeps(self, limits: Limits) -> bool:
        """Whether it is within the limits."""
        return self.area_kge <= limits.area_kge and self.clock_ghz >= limits.clock_ghz


def design_space(model: Model) -> Space[Design]:
    """Returns the space for a network: what tables of areas have, with words as wide as its numbers or parts of them."""
    bits = 8 * min(NUMBER_BYTES[layer.number_type] for layer in model.network.layers)
    windows, codes = (tuple(sorted(set(values))) for values in zip(*formats_measured(), strict=True))
    values = {
        "lanes": tuple(lanes_measured(bits)),
        "word_bits": tuple(word for word in (8, 16, 32) if word <= bits),
        "window": windows,
        "code_bits": codes,
        "units": tuple(units_measured()),
        "queue": (0, 1, 2),
        "outstanding": (2, 4, 8, 16, 32),
        "read_buffer_beats": (64, 128, 256, 512, 1024),
    }
    return Space(Design, values, _possible)


def _possible(design: Design) -> bool:
    try:
        design.config()
    except CdmaError:
        return False
    return True


class Trainer:
    """Trains one network with designs. Designs whose engines are equally fast differ in area alone, and train once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._steps: dict[Engine, float] = {}

    def __call__(self, design: Design) -> Evaluation | None:
        """Returns what becomes of the network with a design; None if there is no such engine.

        The engine runs at the clock that timing allows. It reads no faster than its ports, and than what is in flight, the
        least of the read buffer and the outstanding bursts, allows behind the latency of the machine's memory.
        """
        if not _possible(design):
            return None
        size = size_of(design.lanes, design.format, design.units, design.queue, design.read_buffer_beats)
        clock = 1e9 / size.period_ns
        port = design.lanes * design.word_bits / 8
        in_flight = min(design.read_buffer_beats, design.outstanding * _BURST_BEATS) * port * design.units
        machine = self._model.machine
        engine = replace(
            machine.engine,
            units=design.units,
            codec=CodecConfig(design.format, design.lanes),
            clock_hz=clock,
            read_bytes_per_s=min(machine.engine.read_bytes_per_s, design.units * port * clock),
            buffer_bytes=in_flight,
            port_bytes_per_s=port * clock,
        )
        if engine not in self._steps:
            model = self._model.on(replace(machine, engine=engine)).in_words(design.format)
            self._steps[engine] = model.evaluate("cdma").step_s
        return Evaluation(size.area_kge, clock / 1e9, self._steps[engine])


#: The objective of a design beyond a limit: more than any step, and more the further it is beyond.
_PENALTY = 1e3


def objective(found: Evaluation | None, limits: Limits) -> float:
    """Returns what a search minimises: the step, within the limits. Of equal steps the smaller design is better."""
    if found is None:
        return 10 * _PENALTY
    over = max(found.area_kge / limits.area_kge - 1, 0.0) + max(limits.clock_ghz / found.clock_ghz - 1, 0.0)
    return _PENALTY * (1 + over) if over else found.step_s * (1 + 1e-3 * found.area_kge / limits.area_kge)


def best(known: Mapping[Design, Evaluation | None], limits: Limits) -> Design | None:
    """Returns the design with the least objective among those that keep the limits."""
    within = [design for design, found in known.items() if found is not None and found.keeps(limits)]
    return min(within, key=lambda design: objective(known[design], limits), default=None)


def pareto_front(
    known: Mapping[Design, Evaluation | None], limits: Limits
) -> list[tuple[Design, Evaluation]]:
    """Returns the designs within the limits than which no other is both smaller and faster, the smallest first."""
    pairs = [(design, found) for design, found in known.items() if found is not None and found.keeps(limits)]
    result: list[tuple[Design, Evaluation]] = []
    for design, found in sorted(pairs, key=lambda pair: (pair[1].area_kge, pair[1].step_s)):
        if not result or found.step_s < result[-1][1].step_s * (1 - 1e-4):
            result.append((design, found))
    return result


def load_model(network: str, machine: str = "titan_xp", link: str | None = None) -> Model:
    """Returns the model of a network on a machine, with a ``link`` in the place of the machine's if one is named.

    Networks and machines are those that come with the package, or TOML files. Densities and assumptions are the package's.
    """
    place = load_machine(machine)
    if link is not None:
        place = place.with_link(load_link(link))
    return Model(load_network(network), place, load_assumptions(), with_transformer(load_densities()))


@dataclass(frozen=True)
class NamedTrainer:
    """A :class:`Trainer` of a model by names: it is small, and can be sent to another process or machine."""

    network: str
    machine: str
    link: str | None = None

    def __call__(self, design: Design) -> Evaluation | None:
        """Evaluates a design; what does not depend on it is made once in a process."""
        return _trainer(self)(design)

    def model(self) -> Model:
        """The network on the machine."""
        return load_model(self.network, self.machine, self.link)


@lru_cache(maxsize=4)
def _trainer(named: NamedTrainer) -> Trainer:
    return Trainer(named.model())
