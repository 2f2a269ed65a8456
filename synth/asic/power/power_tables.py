"""Energy and leakage in a Liberty library, and the energy of a block for a byte against that of a link."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from cdma.synth.asic.library.liberty import Group, read_liberty
from cdma.synth.asic.library.library import Library, input_rows, truth_table
from cdma.synth.asic.paths import LibraryError


def saved_pj(raw_bytes: int, compressed_bytes: int, link_pj_per_bit: float) -> float:
    """What a link saves for each byte of raw data; less than nothing where the compressed data are longer."""
    return 8 * link_pj_per_bit * (1 - compressed_bytes / raw_bytes)


def crossover(points: Sequence[tuple[float, float]]) -> float | None:
    """The density up to which there is a gain, interpolated from gains at densities; None if none at the lowest."""
    ordered = sorted(points)
    if not ordered or ordered[0][1] <= 0:
        return None
    for (density, gain), (next_density, next_gain) in itertools.pairwise(ordered):
        if next_gain <= 0:
            return density + (next_density - density) * gain / (gain - next_gain)
    return ordered[-1][0]


@dataclass(frozen=True)
class Table:
    """A value by the slew of an input and the load of the output; beyond its edges it is that of the edge."""

    slews: tuple[float, ...]
    loads: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]

    def at(self, slew: float, load: float) -> float:
        """The value between the four nearest ones."""
        row, share = _place(self.slews, slew)
        column, part = _place(self.loads, load)

        def between(values: tuple[float, ...]) -> float:
            return values[column] * (1 - part) + (values[column + 1] * part if part else 0)

        upper = between(self.values[row + 1]) * share if share else 0
        return between(self.values[row]) * (1 - share) + upper


def _place(index: Sequence[float], value: float) -> tuple[int, float]:
    """The entry of an index before a value, and how far the value is on the way to the next one."""
    if len(index) == 1 or value <= index[0]:
        return 0, 0.0
    if value >= index[-1]:
        return len(index) - 1, 0.0
    place = bisect_right(index, value) - 1
    return place, (value - index[place]) / (index[place + 1] - index[place])


@dataclass(frozen=True)
class Internal:
    """Energy within a cell when a pin rises or falls, because of a ``related`` pin if it names one, in a state ``when``."""

    related: str
    when: str
    rise: Table | None
    fall: Table | None

    def at(self, slew: float, load: float) -> float:
        """The mean of a rise and a fall."""
        return sum(table.at(slew, load) for table in (self.rise, self.fall) if table is not None) / 2


@dataclass(frozen=True)
class Arc:
    """How an output follows an input: the slews of its rise and of its fall."""

    related: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class PowerPin:
    """A pin; ``capacitance`` is in the unit of the library."""

    name: str
    direction: str
    capacitance: float
    function: str
    internal: tuple[Internal, ...]
    arcs: tuple[Arc, ...]


@dataclass(frozen=True)
class PowerCell:
    """A cell.

    ``leakage``: States with a value in watts each; ``other_leakage`` is that of every other state.
    ``state``: The names of a flip-flop's value and of its inverse, which its outputs are functions of.
    ``next_state``: The function that it loads at the rising edge of ``clock``.
    ``gating``: The pins of a clock gate by their parts.
    """

    name: str
    pins: Mapping[str, PowerPin]
    leakage: tuple[tuple[str, float], ...]
    other_leakage: float
    state: tuple[str, ...]
    next_state: str
    clock: str
    gating: Mapping[str, str]


@dataclass(frozen=True)
class Wires:
    """A wire load model: capacitance by length, and length by the number of loads."""

    name: str
    capacitance: float = 0.0
    lengths: tuple[tuple[int, float], ...] = ()
    slope: float = 0.0

    def of(self, loads: int) -> float:
        """The capacitance of the wire to so many loads."""
        if not self.lengths or not loads:
            return 0.0
        below = [each for each in self.lengths if each[0] <= loads] or self.lengths[:1]
        count, length = below[-1]
        return self.capacitance * (length + self.slope * max(0, loads - count))


@dataclass(frozen=True)
class PowerLibrary:
    """The cells of a netlist's library, in its units but for energies, powers and volts; ``wires`` gives a net's
    capacitance by its loads."""

    cells: Mapping[str, PowerCell]
    volts: float
    energy_j: float
    capacitance_f: float
    wires: Wires


@cache
def rows_of(when: str) -> tuple[tuple[str, ...], tuple[tuple[bool, ...], ...]]:
    """The names in a condition, and the rows of their values in which it holds."""
    names = list(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", when)))
    table = truth_table(when, names)
    if table is None:
        raise LibraryError(f"a condition of the library is not understood: {when}")
    return tuple(names), tuple(row for row, holds in zip(input_rows(len(names)), table, strict=True) if holds)


_PREFIXES = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "f": 1e-15}


def _unit(text: str, letter: str) -> float:
    match = re.fullmatch(rf"\s*(\d+(?:\.\d+)?)\s*([pnumf]?){letter}\s*", text)
    if match is None:
        raise LibraryError(f"the unit {text!r} is not understood")
    return float(match[1]) * _PREFIXES[match[2]]


def power_library(library: Library, cells: Collection[str], wire_load: str | None = None) -> PowerLibrary:
    """Reads what the library says of the power of ``cells``; ``wire_load`` names one of its wire load models."""
    found: dict[str, PowerCell] = {}
    wires: dict[str, Wires] = {}
    volts = energy = 0.0
    for text in library.texts:
        group = read_liberty(text.decode("latin-1"), library.name, frozenset(cells))
        volts = float(group.attributes.get("nom_voltage", 0))
        energy = _unit(group.attributes.get("voltage_unit", "1V"), "V") ** 2 * library.capacitance_ff * 1e-15
        watts = _unit(group.attributes.get("leakage_power_unit", "1nW"), "W")
        templates = {
            one.arguments[0]: one for one in group.groups if one.kind.endswith("_template") and one.arguments
        }
        chosen = (cell for cell in group.of("cell") if cell.arguments[0] in cells)
        found |= {cell.arguments[0]: _cell(cell, templates, watts) for cell in chosen}
        wires |= {one.arguments[0]: _wires(one) for one in group.of("wire_load")}
    if not volts:
        raise LibraryError(f"{library.name} does not say its voltage (nom_voltage)")
    if not any(
        cell.leakage or cell.other_leakage or any(pin.internal for pin in cell.pins.values())
        for cell in found.values()
    ):
        raise LibraryError(
            f"{library.name} says nothing of power: its cells have neither internal_power nor leakage"
        )
    if wire_load is not None and wire_load not in wires:
        raise LibraryError(
            f"{library.name} has no wire load model {wire_load!r}; it has {', '.join(wires) or 'none'}"
        )
    return PowerLibrary(
        found, volts, energy, library.capacitance_ff * 1e-15, wires[wire_load] if wire_load else Wires("none")
    )


def _wires(group: Group) -> Wires:
    lengths = tuple(
        (int(float(count)), float(length))
        for count, length, *_ in (
            each.split(",") for each in group.attributes.get("fanout_length", "").split(";") if each
        )
    )
    attributes = group.attributes
    return Wires(
        group.arguments[0],
        float(attributes.get("capacitance", 0)),
        tuple(sorted(lengths)),
        float(attributes.get("slope", 0)),
    )


def _cell(group: Group, templates: Mapping[str, Group], watts: float) -> PowerCell:
    pins = {}
    gating: dict[str, str] = {}
    for pin in group.of("pin"):
        for name in pin.arguments:
            pins[name] = _pin(name, pin, templates)
            gating |= {
                part: name
                for part in ("clock", "enable", "test", "out")
                if f"clock_gate_{part}_pin" in pin.attributes
            }
    register = next(iter(group.of("ff")), Group("ff", [], {}, []))
    leakage = [
        (one.attributes.get("when", ""), float(one.attributes.get("value", 0)) * watts)
        for one in group.of("leakage_power")
    ]
    mean = sum(value for _, value in leakage) / len(leakage) if leakage else 0.0
    cell_leakage = group.attributes.get("cell_leakage_power")
    return PowerCell(
        group.arguments[0],
        pins,
        tuple(each for each in leakage if each[0]),
        mean if cell_leakage is None else float(cell_leakage) * watts,
        tuple(register.arguments),
        register.attributes.get("next_state", ""),
        register.attributes.get("clocked_on", "").strip("() "),
        gating,
    )


def _pin(name: str, group: Group, templates: Mapping[str, Group]) -> PowerPin:
    def table(inner: Group, kind: str) -> Table | None:
        return next((_table(one, templates) for one in inner.of(kind)), None)

    def related(inner: Group) -> list[str]:
        return inner.attributes.get("related_pin", "").split() or [""]

    internal = tuple(
        Internal(
            pin,
            one.attributes.get("when", ""),
            *(table(one, kind) or table(one, "power") for kind in _POWERS),
        )
        for one in group.of("internal_power")
        for pin in related(one)
    )
    arcs = tuple(
        Arc(pin, tables)
        for one in group.of("timing")
        if (tables := tuple(found for kind in _SLEWS if (found := table(one, kind)) is not None))
        for pin in related(one)
    )
    return PowerPin(
        name,
        group.attributes.get("direction", "").strip(),
        float(group.attributes.get("capacitance", 0)),
        group.attributes.get("function", ""),
        internal,
        arcs,
    )


_POWERS = ("rise_power", "fall_power")
_SLEWS = ("rise_transition", "fall_transition")


def _table(group: Group, templates: Mapping[str, Group]) -> Table:
    template = templates.get("".join(group.arguments[:1]), Group("", [], {}, []))

    def index(which: int) -> tuple[float, ...]:
        points = group.attributes.get(f"index_{which}") or template.attributes.get(f"index_{which}", "")
        return _numbers(points) or (0.0,)

    first, second = index(1), index(2)
    values = _numbers(group.attributes.get("values", "0"))
    by_load = "capacitance" in template.attributes.get("variable_1", "")
    if len(values) != len(first) * len(second):
        first, second = (0.0,), (0.0,)
    rows = tuple(values[at : at + len(second)] for at in range(0, len(first) * len(second), len(second)))
    return Table(second, first, tuple(zip(*rows, strict=True))) if by_load else Table(first, second, rows)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, re.findall(r"[-+.\deE]+", text)))
