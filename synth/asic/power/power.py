"""The power of a netlist from what its nets do: that of the clock, of registers, of logic, and leakage.

OpenSTA's Debian version ignores the activities that it is given for pins, so everything is calculated here, from the tables
of the library: the energy within each cell for each change of its pins, by slew and load, in the states that the library
tells apart, and the energy that charges its load. What changed because of which input is not known; each related pin
counts by its own changes. States of a cell's pins are taken as independent. The simulation has
no delays, so there are no glitches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from cdma.synth.asic.library.library import Library
from cdma.synth.asic.netlist import Netlist
from cdma.synth.asic.recipe import MEMORY_LEFT_OUT

from .counted import Counts
from .power_tables import Internal, PowerCell, PowerLibrary, PowerPin, rows_of


@dataclass(frozen=True)
class Power:
    """Watts by what takes them; leakage is apart. ``clock`` is the clock's nets, its pins and its gates."""

    clock: float = 0.0
    registers: float = 0.0
    logic: float = 0.0
    leakage: float = 0.0

    @property
    def total(self) -> float:
        return self.clock + self.registers + self.logic + self.leakage


@dataclass(frozen=True)
class _Activity:
    """Changes in a cycle and share of the time as 1, of each net."""

    changes: Mapping[int, float]
    ones: Mapping[int, float]

    def rate(self, bit: int | str | None) -> float:
        return self.changes.get(bit, 0.0) if isinstance(bit, int) else 0.0

    def share(self, bit: int | str | None) -> float:
        return self.ones.get(bit, 0.5) if isinstance(bit, int) else float(bit == "1")


class _Instance:
    """A cell of the netlist: where its pins lead, and the energies of its pins, with their slews and loads, in joules."""

    def __init__(self, cell: PowerCell, pins: Mapping[str, list[Any]]) -> None:
        self.cell = cell
        self.pins = {name: bits[0] for name, bits in pins.items() if bits}
        #: Of each pin, what its changes cost: conditions with their energies, by the related pin.
        self.energies: dict[str, list[tuple[Internal, float]]] = {}

    @property
    def is_register(self) -> bool:
        return bool(self.cell.state)

    @property
    def clock_pin(self) -> str:
        return self.cell.gating.get("clock", "") or self.cell.clock

    def share(self, pin: str, activity: _Activity) -> float:
        """The share of the time in which a pin is 1; of an output that leads nowhere, from the other one."""
        if pin in self.pins:
            return activity.share(self.pins[pin])
        return 1 - activity.share(self._other(pin))

    def rate(self, pin: str, activity: _Activity) -> float:
        return activity.rate(self.pins.get(pin) if pin in self.pins else self._other(pin))

    def _other(self, pin: str) -> int | str | None:
        if not self.is_register or self.cell.pins[pin].direction != "output":
            return None
        return next((self.pins[other.name] for other in self.outputs()), None)

    def outputs(self) -> Iterator[PowerPin]:
        """The outputs that lead somewhere."""
        return (pin for pin in self.cell.pins.values() if pin.direction == "output" and pin.name in self.pins)

    def holds(self, when: str, activity: _Activity) -> float:
        """The share of the time in which a condition on the pins holds."""
        names, rows = rows_of(when)
        shares = [self.share(name, activity) for name in names]
        total = 0.0
        for row in rows:
            product = 1.0
            for value, share in zip(row, shares, strict=True):
                product *= share if value else 1 - share
            total += product
        return total


class PowerModel:
    """The energies of a netlist's cells on a library, for any activity."""

    def __init__(self, netlist: Netlist, library: Library, power: PowerLibrary, clock: str) -> None:
        module = netlist.modules[netlist.top]
        self._power = power
        (self._clock,) = module["ports"][clock]["bits"]
        cells = [cell for cell in module["cells"].values() if cell["type"] != MEMORY_LEFT_OUT]
        self._instances = [_Instance(power.cells[cell["type"]], cell["connections"]) for cell in cells]
        self._gated = {one.pins[one.cell.gating["out"]]: one for one in self._instances if one.cell.gating}
        self._loads = self._find_loads(module, library.load_ff / library.capacitance_ff)
        self._set_energies(module, library)

    def power(self, counts: Counts, period_s: float) -> Power:
        """The power in a run that was counted, at this period of the clock."""
        cycles = counts.cycles
        changes = {net: count / max(1, cycles - 1) for net, count in counts.changes.items()}
        ones = {net: count / cycles for net, count in counts.ones.items()}
        for net in self._gated:
            # Of a gated clock it was counted in how many cycles it rises.
            changes[net], ones[net] = 2 * ones[net], ones[net] / 2
        changes[self._clock], ones[self._clock] = 2.0, 0.5
        return self._of(_Activity(changes, ones), period_s)

    def with_rate(self, rate: float, period_s: float) -> Power:
        """The power if every net changed at this rate, and was 1 half of the time: for a comparison with other tools."""
        nets = {bit for one in self._instances for bit in one.pins.values() if isinstance(bit, int)}
        return self._of(
            _Activity(dict.fromkeys(nets, rate) | {self._clock: 2.0}, dict.fromkeys(nets, 0.5)), period_s
        )

    def _of(self, activity: _Activity, period_s: float) -> Power:
        joules = {
            "clock": self._charge(self._clock) * activity.rate(self._clock),
            "registers": 0.0,
            "logic": 0.0,
        }
        leakage = 0.0
        for one in self._instances:
            rest = "clock" if one.cell.gating else "registers" if one.is_register else "logic"
            for pin in one.energies:
                joules["clock" if pin == one.clock_pin else rest] += self._internal(one, pin, activity)
            for output in one.outputs():
                net = one.pins[output.name]
                joules[rest] += self._charge(net) * activity.rate(net)
            leakage += _leakage(one, activity)
        return Power(leakage=leakage, **{name: value / period_s for name, value in joules.items()})

    def _charge(self, net: int | str) -> float:
        """What a change of a net costs in its load."""
        farads = self._loads.get(net, 0.0) * self._power.capacitance_f
        return farads * self._power.volts**2 / 2

    def _internal(self, one: _Instance, pin: str, activity: _Activity) -> float:
        """What the changes of a pin cost within its cell, in a cycle."""
        rate = one.rate(pin, activity)
        if not rate:
            return 0.0
        energies = one.energies[pin]
        named = [
            (internal, energy, one.holds(internal.when, activity) if internal.when else None)
            for internal, energy in energies
        ]
        causes: dict[str, list[tuple[float, float | None]]] = {}
        for internal, energy, share in named:
            causes.setdefault(internal.related, []).append((energy, share))
        total = weights = 0.0
        for related, parts in causes.items():
            weight = one.rate(related, activity) if related in one.pins else 0.0
            total += weight * _mean(parts)
            weights += weight
        if not weights:
            total, weights = sum(map(_mean, causes.values())), len(causes)
        return rate * total / weights

    def _find_loads(self, module: Mapping[str, Any], output_load: float) -> dict[int | str, float]:
        """The capacitance of each net: of the inputs on it, of its wire, and of the ports that it leads to."""
        loads: dict[int | str, float] = {}
        sinks: dict[int | str, int] = {}
        for one in self._instances:
            for pin in one.cell.pins.values():
                if pin.direction == "input" and pin.name in one.pins:
                    net = one.pins[pin.name]
                    loads[net] = loads.get(net, 0.0) + pin.capacitance
                    sinks[net] = sinks.get(net, 0) + 1
        for port in module["ports"].values():
            if port["direction"] == "output":
                for net in port["bits"]:
                    loads[net] = loads.get(net, 0.0) + output_load
                    sinks[net] = sinks.get(net, 0) + 1
        return {net: load + self._power.wires.of(sinks[net]) for net, load in loads.items()}

    def _set_energies(self, module: Mapping[str, Any], library: Library) -> None:
        """Takes from the tables what each change costs, with slews from the inputs and registers on."""
        drivers = {one.pins[pin.name]: one for one in self._instances for pin in one.outputs()}
        input_slew = self._driven_slew(library)
        slews: dict[int | str, float] = {}

        def before(one: _Instance) -> list[_Instance]:
            if one.is_register:
                return []
            nets = (
                one.pins[pin.name]
                for pin in one.cell.pins.values()
                if pin.direction == "input" and pin.name in one.pins
            )
            return [drivers[net] for net in nets if net in drivers]

        # Clocks are ideal: a gated one has the slew of the clock.
        slews |= dict.fromkeys(self._gated, input_slew)
        for one in TopologicalSorter({one: before(one) for one in self._instances}).static_order():
            for pin in one.cell.pins.values():
                net = one.pins.get(pin.name)
                load = self._loads.get(net, 0.0) if net is not None else 0.0
                if pin.direction == "output" and net is not None and net not in slews:
                    slews[net] = max(
                        (
                            sum(
                                table.at(slews.get(one.pins.get(arc.related, ""), input_slew), load)
                                for table in arc.tables
                            )
                            / len(arc.tables)
                            for arc in pin.arcs
                            if arc.related in one.pins
                        ),
                        default=input_slew,
                    )
                energies = []
                for internal in pin.internal:
                    cause = one.pins.get(internal.related or pin.name, "")
                    slew = slews.get(cause, input_slew)
                    energies.append((internal, internal.at(slew, load) * self._power.energy_j))
                if energies:
                    one.energies[pin.name] = energies

    def _driven_slew(self, library: Library) -> float:
        """The slew of inputs and of the clock: the usual driver with the usual load, at the steepest input."""
        driver = library.driver
        cell = self._power.cells[driver.name]
        (output,) = (pin for pin in cell.pins.values() if pin.direction == "output")
        tables = [table for arc in output.arcs for table in arc.tables]
        load = library.load_ff / library.capacitance_ff
        return sum(table.at(0.0, load) for table in tables) / len(tables) if tables else 0.0


def _mean(parts: list[tuple[float, float | None]]) -> float:
    """The mean of energies, each in its share of the time; one without a condition has the rest."""
    known = sum(share for _, share in parts if share is not None)
    others = [energy for energy, share in parts if share is None]
    total = sum(energy * share for energy, share in parts if share is not None)
    if others:
        return total + max(0.0, 1 - known) * sum(others) / len(others)
    return total / known if known else sum(energy for energy, _ in parts) / len(parts)


def _leakage(one: _Instance, activity: _Activity) -> float:
    known = total = 0.0
    for when, watts in one.cell.leakage:
        share = one.holds(when, activity)
        known, total = known + share, total + share * watts
    return total + max(0.0, 1 - known) * one.cell.other_leakage
