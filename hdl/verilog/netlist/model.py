"""RTLIL as data: modules of wires, cells, processes and connections.

Only the subset of RTLIL that Amaranth's back end writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = [
    "ENUMERATION",
    "VALUE",
    "Cell",
    "MemoryDeclaration",
    "Module",
    "Signal",
    "Slice",
    "Statement",
    "Wire",
    "called",
    "constant",
    "constant_bits",
    "cut",
    "joined",
    "variable_of",
    "width_of",
]

#: The attributes of a wire that say what its values are called: together, and each, with its bits behind.
ENUMERATION, VALUE = "\\enum_base_type", "\\enum_value_"

#: Begins the name of a wire of what the source has a variable for; until Yosys with a backslash before it.
_CALLED = "$.called:"


class Slice(NamedTuple):
    """Bits ``low`` to ``low + width - 1`` of a wire, or, if ``bits`` is not None, constant bits (most
    significant first)."""

    wire: str
    low: int
    width: int
    bits: str | None = None

    def cut(self, low: int, width: int) -> Slice:
        """Bits ``low`` to ``low + width - 1`` of this slice."""
        if self.bits is None:
            return Slice(self.wire, self.low + low, width)
        end = self.width - low
        return constant(self.bits[end - width : end])


#: A signal as slices, least significant first.
Signal = list[Slice]


def called(variable: str) -> str:
    """The name of a wire that says what the source calls its value."""
    return f"{_CALLED}{variable}"


def variable_of(wire: str) -> str:
    """What the source calls the value of a wire; nothing if that has no variable."""
    return wire.removeprefix("\\").removeprefix(_CALLED).partition("$")[0] if _CALLED in wire else ""


def constant(bits: str) -> Slice:
    """Constant bits, most significant first."""
    return Slice("", 0, len(bits), bits)


def constant_bits(text: str) -> str:
    """The bits of an RTLIL constant. Yosys writes 32 bits as a decimal number, and a run of x as a single x."""
    width, quote, bits = text.partition("'")
    return bits.rjust(int(width), bits[0]) if quote else f"{int(text) & 0xFFFFFFFF:032b}"


def width_of(signal: Signal) -> int:
    """The width of a signal."""
    return sum(piece.width for piece in signal)


def cut(signal: Signal, low: int, width: int) -> Signal:
    """Bits ``low`` to ``low + width - 1`` of a signal."""
    if low == 0 and len(signal) == 1 and signal[0].width == width:
        return signal
    result: Signal = []
    for piece in signal:
        if low + width <= 0:
            break
        start, end = max(low, 0), min(low + width, piece.width)
        if start < end:
            result.append(piece.cut(start, end - start))
        low -= piece.width
    return result


def joined(signal: Signal) -> Signal:
    """The signal with adjacent slices and adjacent constants merged."""
    result: Signal = []
    for piece in signal:
        last = result[-1] if result else None
        if last is not None and last.bits is not None and piece.bits is not None:
            result[-1] = Slice("", 0, last.width + piece.width, piece.bits + last.bits)
        elif (
            last is not None
            and last.bits is None
            and last.wire == piece.wire
            and last.low + last.width == piece.low
        ):
            result[-1] = Slice(last.wire, last.low, last.width + piece.width)
        else:
            result.append(piece)
    return result


@dataclass
class Wire:
    """A wire, and a port if it has a ``direction``; ``init`` has the initial bits, most significant first.

    ``enumeration``, ``values``
        What its values are called together, if not after the wire; and each, by its bits.
    """

    width: int
    signed: bool
    direction: str | None
    init: str | None = None
    enumeration: str = ""
    values: dict[str, str] = field(default_factory=dict)


@dataclass
class Cell:
    """An instance of a module, or of an operator, register or memory port of Yosys, whose ``kind`` starts with $."""

    kind: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    ports: dict[str, Signal] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)

    def parameter_bits(self, name: str) -> str:
        """The bits of a parameter, most significant first."""
        return constant_bits(self.parameters[name])


@dataclass(frozen=True)
class MemoryDeclaration:
    """A memory: its name, its ``shape`` as in the text, and its attributes."""

    name: str
    shape: str
    attributes: dict[str, str]


@dataclass
class Statement:
    """A line of a process: the ``signals`` of an assignment or of a switch, the text ``rest`` of other lines."""

    keyword: str
    signals: list[Signal]
    rest: str = ""


@dataclass
class Module:
    """A module. Names are as in RTLIL: public ones start with a backslash, generated ones with $."""

    name: str
    wires: dict[str, Wire] = field(default_factory=dict)
    memories: list[MemoryDeclaration] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    processes: list[list[Statement]] = field(default_factory=list)
    connects: list[tuple[Signal, Signal]] = field(default_factory=list)

    def ports(self, order: Sequence[str] | None = None) -> list[str]:
        """The names of its ports, in the ``order`` of their public names; by default clock and reset, inputs, outputs."""
        ports = [name for name, wire in self.wires.items() if wire.direction]
        if order is not None:
            return sorted(ports, key=lambda name: order.index(name[1:]))
        first = ("\\aclk", "\\rst")
        return sorted(ports, key=lambda name: (name not in first, self.wires[name].direction != "input"))

    def statements(self) -> Iterator[Statement]:
        """The lines of all processes."""
        for process in self.processes:
            yield from process

    def whole_wire(self, signal: Signal) -> str | None:
        """The name of the wire, if ``signal`` is exactly one whole wire."""
        if (
            len(signal) == 1
            and signal[0].bits is None
            and signal[0].width == self.wires[signal[0].wire].width
        ):
            return signal[0].wire
        return None

    def rewrite(self, change: Callable[[Signal], Signal]) -> None:
        """Passes every signal through ``change``."""
        for cell in self.cells:
            cell.ports = {port: change(signal) for port, signal in cell.ports.items()}
        for statement in self.statements():
            statement.signals = [change(signal) for signal in statement.signals]
        self.connects = [(change(left), change(right)) for left, right in self.connects]
