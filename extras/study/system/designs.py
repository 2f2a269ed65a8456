"""One design of the engine, what it costs, and how long a network trains with it; the objective of a search
over designs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from cdma.base.errors import CdmaError
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.study.system.assumptions import load_assumptions
from cdma.study.system.density_table import load_densities, with_transformer
from cdma.study.system.machine import load_link, load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import load_network
from cdma.study.tuner.search import Space

from .area_table import formats_measured, lanes_measured, size_of, units_measured
from .layers import NUMBER_BYTES
from .machine import Engine

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
