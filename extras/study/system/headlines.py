"""Where the assumptions may lie, and the variations of them that give bands. The headlines: what the papers say in one
number, ours for it, and the band that the assumptions give.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cdma.base.toml_table import Table, TableError, read_toml

from .density_table import DensityTable
from .machine import Assumptions, default_assumptions_path, load_link, load_machine
from .model import Model, Result, moments
from .networks import load_network


@dataclass(frozen=True)
class Range:
    """Where the value of one assumption may lie."""

    section: str
    key: str
    least: float
    most: float
    #: The source or the reason.
    reason: str
    #: Those that have the same name here vary at once.
    together: str

    def at(self, place: float) -> float:
        """The value at a part of the way from the least to the greatest one, on a logarithmic scale where there is one."""
        if self.least == 0:
            return self.most * place
        return float(self.least * (self.most / self.least) ** place)


@dataclass(frozen=True)
class Variation:
    """The assumptions at both ends of a range."""

    name: str
    #: The section of the table in which they differ.
    section: str
    ends: tuple[Assumptions, Assumptions]


def load_ranges(path: Path | None = None) -> list[Range]:
    """Reads the ranges in a file of assumptions, or those that come with the package if it has none."""
    given = read_toml(path) if path is not None else None
    table = given if given is not None and "range" in given else read_toml(default_assumptions_path())
    sections = table.table("range")
    return [
        _range(sections.table(section), section, key)
        for section in sections.names()
        for key in sections.table(section).names()
    ]


def variations(assumptions: Assumptions, ranges: list[Range]) -> list[Variation]:
    """Returns the assumptions with each range at its ends, the others as they are."""
    return [
        Variation(
            name,
            section,
            (
                _changed(assumptions, section, {one.key: one.least for one in group}),
                _changed(assumptions, section, {one.key: one.most for one in group}),
            ),
        )
        for (section, name), group in _groups(ranges)
    ]


def draws(assumptions: Assumptions, ranges: list[Range], count: int, seed: int) -> list[Assumptions]:
    """Returns assumptions of which all are somewhere in their ranges, independently of each other.

    Each range is cut into ``count`` parts, evenly on a logarithmic scale, and each part is drawn from once.
    """
    rng = random.Random(seed)
    drawn = [assumptions] * count
    for (section, _), group in _groups(ranges):
        places = [(part + rng.random()) / count for part in rng.sample(range(count), count)]
        drawn = [
            _changed(one, section, {each.key: each.at(place) for each in group})
            for one, place in zip(drawn, places, strict=True)
        ]
    return drawn


def _groups(ranges: list[Range]) -> list[tuple[tuple[str, str], list[Range]]]:
    """The ranges that vary together, with their section and name."""
    groups: dict[tuple[str, str], list[Range]] = {}
    for one in ranges:
        groups.setdefault((one.section, one.together), []).append(one)
    return list(groups.items())


def _range(table: Table, section: str, key: str) -> Range:
    row = table.table(key)
    least = row.number("least", least=0)
    result = Range(
        section,
        key,
        least,
        row.number("most", least=least),
        row.text("reason"),
        row.text("together", key),
    )
    row.done()
    return result


def _changed(assumptions: Assumptions, section: str, values: dict[str, float]) -> Assumptions:
    old: Any = getattr(assumptions, section, None)
    for key in values:
        if not isinstance(getattr(old, key, None), float):
            raise TableError(f"range.{section} has {key!r}, which is no assumption that is a number")
    changed: dict[str, Any] = {section: replace(old, **values)}
    return replace(assumptions, **changed)


#: The networks of the cDMA paper.
PAPER_NETWORKS = ("alexnet", "overfeat", "nin", "vgg16", "squeezenet", "googlenet")
NETWORKS = (*PAPER_NETWORKS, "resnet50")
#: The networks of the CSWAP paper.
CSWAP_NETWORKS = ("alexnet", "vgg19", "squeezenet", "mobilenet", "googlenet")
CSWAP_MACHINES = ("v100", "rtx2080ti")
CSWAP_POLICIES = ("vdnn_all", "vdnn++", "static", "cswap")

#: The policies whose rows a section of the assumptions moves; a section that is not here moves all of them.
_MOVES = {"cpu": {"vdnn++"}, "kernels": {"static", "cswap"}}

#: How often all assumptions are drawn, and the seed.
_DRAWS, _SEED = 24, 1

#: Evaluates a network on a machine under a policy.
_Evaluate = Callable[[str, str, str], Result]


@dataclass(frozen=True)
class Span:
    """The values of a headline when one assumption goes from one end of its range to the other."""

    name: str
    #: Whether it comes from other activations, and not from an assumption.
    activations: bool
    least: float
    most: float


@dataclass(frozen=True)
class Band:
    """A headline and where it may lie: one assumption at a time at the ends of its range.

    ``drawn``: Its values with all assumptions anywhere in their ranges at once, in ascending order.
    """

    value: float
    spans: tuple[Span, ...]
    drawn: tuple[float, ...] = ()

    @property
    def joint(self) -> tuple[float, float]:
        """Where four of five values lie with all assumptions at once: from the tenth part to the ninetieth."""
        if not self.drawn:
            return self.value, self.value
        low, high = np.quantile(self.drawn, (0.1, 0.9))
        return float(low), float(high)

    @property
    def least(self) -> float:
        """The least value by the assumptions."""
        return min([self.value, *(span.least for span in self.spans if not span.activations)])

    @property
    def most(self) -> float:
        """The greatest value by the assumptions."""
        return max([self.value, *(span.most for span in self.spans if not span.activations)])

    @property
    def assumed(self) -> list[Span]:
        """Those of :attr:`widest` that are of an assumption."""
        return [span for span in self.widest if not span.activations]

    @property
    def widest(self) -> list[Span]:
        """The spans that are not a point, the widest first."""
        moved = [span for span in self.spans if span.most - span.least > 1e-3 * abs(self.value)]
        return sorted(moved, key=lambda span: span.least - span.most)


def bands(
    assumptions: Assumptions,
    ranges: list[Range],
    densities: DensityTable,
    lines: DensityTable,
    others: Mapping[str, DensityTable],
    progress: Callable[[str], None] = lambda what: None,
) -> dict[str, Band]:
    """Returns the band of each headline, and those of the bars of the figures by network.

    ``speedup/NETWORK`` is the speedup of cDMA, ``gain/MACHINE/NETWORK`` the per cent by which CSWAP is faster than
    compressing everything, and ``step/POLICY/NETWORK`` the step in vDNN's, on the first of ``CSWAP_MACHINES``.

    ``others`` are activations in the place of ``densities``, by name.
    """
    base, best = _evaluator(assumptions, densities, lines), _best(assumptions, densities, lines)
    values = _values(base, assumptions, best)
    spans: dict[str, list[Span]] = {name: [] for name in values}

    def add(what: str, activations: bool, ends: Sequence[Mapping[str, float]]) -> None:
        for name in values:
            points = [values[name], *(end[name] for end in ends)]
            spans[name].append(Span(what, activations, min(points), max(points)))

    for one in variations(assumptions, ranges):
        progress(f"bands: {one.section}, {one.name}")
        moved = _MOVES.get(one.section)
        ends = []
        for end in one.ends:
            there = _evaluator(end, densities, lines)
            ends.append(_values(_first(there, moved, base), end, best))
        add(f"{one.section}: {one.name}", False, ends)
    for name, table in others.items():
        progress(f"bands: densities of the {name}")
        changed = _evaluator(assumptions, table, lines)
        add(f"densities: {name}", True, [_values(changed, assumptions, _best(assumptions, table, lines))])
    drawn: dict[str, list[float]] = {name: [] for name in values}
    for number, assumed in enumerate(draws(assumptions, ranges, _DRAWS, _SEED), start=1):
        progress(f"bands: all assumptions at once, {number} of {_DRAWS}")
        for name, value in _values(_evaluator(assumed, densities, lines), assumed, best).items():
            drawn[name].append(value)
    return {
        name: Band(value, tuple(spans[name]), tuple(sorted(drawn[name]))) for name, value in values.items()
    }


def headlines(
    rows: Mapping[str, Result],
    best: float,
    cswap: Sequence[tuple[str, Mapping[str, Result]]],
    assumptions: Assumptions,
) -> dict[str, float]:
    """Returns our numbers for the quantities of ``data/paper.toml``.

    ``rows`` are those of ``cdma`` by network, ``best`` is the greatest ratio of any map and moment, and ``cswap`` has
    the rows of ``CSWAP_POLICIES`` for each machine and network.
    """
    ratios = [rows[name].ratio for name in PAPER_NETWORKS]
    speedups = [rows[name].speedup_over_vdnn for name in PAPER_NETWORKS]
    arriving = load_link("pcie3").d2h_bytes_per_s * assumptions.link.efficiency
    result = {
        "ratio_average": _mean(ratios),
        "ratio_maximum": best,
        "speedup_average": _mean(speedups),
        "speedup_maximum": max(speedups),
        "read_bandwidth_needed": best * arriving / 1e9,
        "cswap_over_vdnn": _mean([row["vdnn_all"].step_s / row["cswap"].step_s for _, row in cswap]),
        "cswap_over_vdnnpp": _mean([row["vdnn++"].step_s / row["cswap"].step_s for _, row in cswap]),
    }
    for machine in CSWAP_MACHINES:
        gains = [row["static"].step_s / row["cswap"].step_s for name, row in cswap if name == machine]
        result[f"cswap_over_static_{machine}"] = _mean(gains)
    return result


def gain(static: Result, cswap: Result) -> float:
    """Returns by how many per cent CSWAP is faster than compressing everything."""
    return 100 * (static.step_s / cswap.step_s - 1)


def best_ratio(model: Model, codec: str) -> float:
    """Returns the ratio of the map and moment that compress best."""
    times = moments(model.planner.assumptions.training.moments)
    compression = model.situation(codec, 0.5).compression
    return max(1 / compression.fraction(item, time) for item in model.planner.offloadable for time in times)


def _best(assumptions: Assumptions, densities: DensityTable, lines: DensityTable) -> float:
    """Returns the greatest ratio of the papers' networks, which no assumption but the number of moments changes."""
    machine = load_machine("titan_xp")
    return max(
        best_ratio(Model(load_network(name), machine, assumptions, densities, lines), "zv")
        for name in PAPER_NETWORKS
    )


def _values(evaluate: _Evaluate, assumptions: Assumptions, best: float) -> dict[str, float]:
    rows = {name: evaluate(name, "titan_xp", "cdma") for name in NETWORKS}
    cswap = [
        (machine, {policy: evaluate(name, machine, policy) for policy in CSWAP_POLICIES})
        for name in CSWAP_NETWORKS
        for machine in CSWAP_MACHINES
    ]
    return {
        **headlines(rows, best, cswap, assumptions),
        **{f"speedup/{name}": row.speedup_over_vdnn for name, row in rows.items()},
        **{
            f"gain/{machine}/{name}": gain(
                evaluate(name, machine, "static"), evaluate(name, machine, "cswap")
            )
            for name in CSWAP_NETWORKS
            for machine in CSWAP_MACHINES
        },
        **{
            f"step/{policy}/{name}": evaluate(name, CSWAP_MACHINES[0], policy).step_s
            / evaluate(name, CSWAP_MACHINES[0], "vdnn_all").step_s
            for name in CSWAP_NETWORKS
            for policy in CSWAP_POLICIES
        },
    }


def _evaluator(assumptions: Assumptions, densities: DensityTable, lines: DensityTable) -> _Evaluate:
    @cache
    def model(network: str, machine: str) -> Model:
        return Model(load_network(network), load_machine(machine), assumptions, densities, lines)

    @cache
    def evaluate(network: str, machine: str, policy: str) -> Result:
        return model(network, machine).evaluate(policy)

    return evaluate


def _first(moved: _Evaluate, policies: set[str] | None, base: _Evaluate) -> _Evaluate:
    """Returns what evaluates ``policies``, or all if None, by ``moved``, and the others by ``base``."""

    def evaluate(network: str, machine: str, policy: str) -> Result:
        chosen = moved if policies is None or policy in policies else base
        return chosen(network, machine, policy)

    return evaluate


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
