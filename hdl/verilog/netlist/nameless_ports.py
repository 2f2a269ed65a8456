"""Names of ports that Amaranth has no name for.

In: modules in which a port that is not all of a signal is called after a number of the whole design. Out: the same
modules, in which such ports are the signals that their bits belong to: ``literal`` in place of eight ports of a bit,
``address_63_5`` for a part of a signal, or what an instance inside calls them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from .model import Module, Signal, Slice, Wire, cut, joined

__all__ = ["name_ports"]

#: Begins the names of such ports.
_NAMELESS = "\\port$"

#: A bit of a wire.
_Bit = tuple[str, int]


def name_ports(modules: Mapping[str, Module], inside_out: Iterable[str]) -> None:
    """Names the ports of all modules; submodules come before the modules that they stand in."""
    # The new ports of each module, each with the bits of the old ones that it has.
    named: dict[str, dict[str, Signal]] = {}
    for name in inside_out:
        module = modules[name]
        for cell in module.cells:
            if cell.kind in named:
                old = cell.ports
                new = {
                    port: [part for piece in bits for part in cut(old[piece.wire], piece.low, piece.width)]
                    for port, bits in named[cell.kind].items()
                }
                kept = {port: signal for port, signal in old.items() if not port.startswith(_NAMELESS)}
                cell.ports = kept | new
        for direction in ("input", "output"):
            ports = [
                port
                for port, wire in module.wires.items()
                if port.startswith(_NAMELESS) and wire.direction == direction
            ]
            if ports:
                named.setdefault(name, {}).update(_named(module, modules, ports, direction))


class _Part(NamedTuple):
    """Bits of a signal that belong to nameless ports: from ``low`` on the bits ``of`` ports.

    ``whole``
        Whether it is all of the signal.
    """

    signal: str
    low: int
    of: list[_Bit]
    whole: bool

    @property
    def name(self) -> str:
        if self.whole:
            return self.signal
        high = self.low + len(self.of) - 1
        return f"{self.signal}_{high}" if len(self.of) == 1 else f"{self.signal}_{high}_{self.low}"


def _named(
    module: Module, modules: Mapping[str, Module], ports: list[str], direction: str
) -> dict[str, Signal]:
    """Names nameless ports of one direction; returns the new ones, each with the bits of the old that it has."""
    old = {port: module.wires.pop(port).width for port in ports}
    # What the bits of the ports are inside: their own, or what an output is given.
    inside = {port: [Slice(port, 0, width)] for port, width in old.items()}
    if direction == "output":
        inside |= {left[0].wire: right for left, right in module.connects if left[0].wire in old}
        module.connects = [connect for connect in module.connects if connect[0][0].wire not in old]
    of_port = {bit: (port, place) for port in ports for place, bit in enumerate(_bits(inside[port]))}
    parts = [*_signals(module, of_port), *_pins(module, modules, of_port)]
    parts += [_Part(port, 0, [(port, place) for place in range(width)], True) for port, width in old.items()]
    chosen = _chosen(module, parts)
    inner = {outer: bit for bit, outer in of_port.items()}
    replaced: dict[_Bit, _Bit] = {}
    for part in chosen:
        value = _signal(inner[bit] for bit in part.of)
        width = len(part.of)
        if direction == "input":
            module.connects = [
                connect for connect in module.connects if not part.whole or connect[0][0].wire != part.name
            ]
            replaced |= {inner[bit]: (part.name, place) for place, bit in enumerate(part.of)}
        elif part.name not in module.wires:
            module.connects.append(([Slice(part.name, 0, width)], value))
        module.wires.setdefault(part.name, Wire(width, False, None)).direction = direction
    if replaced:
        wires = {wire for wire, _ in replaced}

        def renamed(signal: Signal) -> Signal:
            if not any(piece.wire in wires for piece in signal):
                return signal
            return joined(
                [
                    Slice(*replaced.get((piece.wire, bit), (piece.wire, bit)), 1)
                    if piece.bits is None
                    else piece.cut(bit - piece.low, 1)
                    for piece in signal
                    for bit in range(piece.low, piece.low + piece.width)
                ]
            )

        module.rewrite(renamed)
    return {part.name: _signal(part.of) for part in chosen}


def _signals(module: Module, of_port: Mapping[_Bit, _Bit]) -> Iterator[_Part]:
    """The parts of the module's signals that are bits of ports."""
    found: dict[str, dict[int, _Bit]] = {}
    for left, right in module.connects:
        targets = _bits(left)
        for (wire, place), source in zip(targets, _bits(right), strict=True):
            if source in of_port:
                found.setdefault(wire, {})[place] = of_port[source]
    for (wire, place), outer in of_port.items():
        if wire in module.wires:
            found.setdefault(wire, {})[place] = outer
    for wire, bits in found.items():
        if wire.startswith("\\") and module.wires[wire].direction is None:
            for run in _runs(sorted(bits)):
                yield _part(wire, run[0], [bits[place] for place in run], module.wires[wire].width)


def _pins(module: Module, modules: Mapping[str, Module], of_port: Mapping[_Bit, _Bit]) -> Iterator[_Part]:
    """The parts of ports of instances that are bits of ports of the module."""
    for cell in module.cells:
        if cell.kind in modules:
            for port, signal in cell.ports.items():
                bits = {place: of_port[bit] for place, bit in enumerate(_bits(signal)) if bit in of_port}
                for run in _runs(sorted(bits)):
                    name = f"{cell.name}__{port[1:]}"
                    width = modules[cell.kind].wires[port].width
                    yield _part(name, run[0], [bits[place] for place in run], width)


def _part(signal: str, low: int, of: list[_Bit], width: int) -> _Part:
    return _Part(signal, low, of, len(of) == width)


def _chosen(module: Module, parts: Iterable[_Part]) -> list[_Part]:
    """The largest parts without a bit in common; of equal ones that with the plainest name, signals before pins."""
    chosen: list[_Part] = []
    taken: set[_Bit] = set()

    def rank(part: _Part) -> tuple[object, ...]:
        is_signal = part.signal in module.wires
        is_port = part.signal.startswith(_NAMELESS)
        return is_port, not is_signal, -len(part.of), not part.whole, "$" in part.signal, len(part.signal)

    for part in sorted(parts, key=rank):
        if len({*part.of}) < len(part.of):
            continue
        free = [bit not in taken for bit in part.of]
        if part.signal.startswith(_NAMELESS):
            for run in _runs([place for place, is_free in enumerate(free) if is_free]):
                chosen.append(_part(part.signal, run[0], [part.of[place] for place in run], len(part.of)))
        elif all(free):
            chosen.append(part)
            taken.update(part.of)
    return chosen


def _runs(places: list[int]) -> Iterator[list[int]]:
    """Runs of consecutive numbers."""
    for _, run in groupby(enumerate(places), lambda item: item[1] - item[0]):
        yield [place for _, place in run]


def _bits(signal: Signal) -> list[_Bit]:
    """The bits of a signal; a constant one is of no wire."""
    return [(piece.wire, bit) for piece in signal for bit in range(piece.low, piece.low + piece.width)]


def _signal(bits: Iterable[_Bit]) -> Signal:
    return joined([Slice(wire, bit, 1) for wire, bit in bits])
