"""Cell libraries: cells, pins, boolean functions, and the cells that a measurement needs."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property


def input_rows(inputs: int) -> Iterator[tuple[bool, ...]]:
    """Yields all values of so many inputs, the first input changing fastest."""
    for row in itertools.product((False, True), repeat=inputs):
        yield row[::-1]


_TOKEN = re.compile(r"\s*([A-Za-z_]\w*(?:\[\d+\])?|[()!'&*|+^]|[01])")
#: What an operand ends with in a Python expression over the tuple ``v``.
_ENDS = ("]", "0", "1", ")")


def truth_table(function: str, names: list[str]) -> tuple[bool, ...] | None:
    """Returns the function's value for each of :func:`input_rows`; None if it is empty or names another pin."""
    rows = [tuple(map(int, row)) for row in input_rows(len(names))]
    try:
        # It consists of indices, brackets and operators alone, so it is safe to evaluate.
        code = compile(indexed(function, names), function, "eval")
        return tuple(bool(eval(code, {"__builtins__": {}}, {"v": row}) & 1) for row in rows)
    except (SyntaxError, TypeError, ValueError):
        return None


def indexed(function: str, names: Sequence[str]) -> str:
    """The function over ``v[0]``, ``v[1]`` … in the place of the names, in Python as in Verilog, whose operators
    on bits bind as Liberty's do; an error where it has an unknown word."""
    words: list[str] = []
    function, position = function.strip(), 0
    while position < len(function):
        match = _TOKEN.match(function, position)
        if match is None:
            raise ValueError(f"no token in {function[position:]!r}")
        token, position = match[1], match.end()
        if token == "'":
            start = _operand(words)
            words[start:] = ["(", "~", *words[start:], ")"]
        elif token in "&*|+^)":
            words.append({"*": "&", "+": "|"}.get(token, token))
        else:
            if words and words[-1].endswith(_ENDS):
                words.append("&")  # A blank between operands also means AND.
            word = {"!": "~", "(": "(", "0": "0", "1": "1"}.get(token)
            words.append(word or f"v[{names.index(token)}]")
    return " ".join(words)


def _operand(words: list[str]) -> int:
    """Where the last operand begins: a word, or all from the bracket that the last word closes."""
    depth = 0
    for place in reversed(range(len(words))):
        depth += {")": 1, "(": -1}.get(words[place], 0)
        if not depth:
            return place
    raise ValueError("unbalanced")


@dataclass(frozen=True)
class Pin:
    """A pin.

    ``capacitance`` is in the unit of the library. ``function`` is Liberty's expression, or empty. ``gating`` is the
    part of the pin in a clock gate: ``clock``, ``enable``, ``test``, ``out`` or empty.
    """

    name: str
    direction: str
    capacitance: float
    function: str
    timed: bool
    gating: str


@dataclass(frozen=True)
class Cell:
    """A cell.

    ``area`` is in the unit of the library, for nearly all libraries µm². ``groups`` are the kinds of the groups that
    it contains. ``clock_pin`` is the clock of a flip-flop, and ``clock_gate`` Liberty's name for a sort of clock gate;
    both are empty for other cells. A ``plain`` flip-flop loads the value of one pin, without an enable or a scan
    input before it.
    """

    name: str
    area: float
    pins: tuple[Pin, ...]
    groups: frozenset[str]
    clock_pin: str
    plain: bool
    clock_gate: str
    dont_use: bool

    @property
    def inputs(self) -> list[Pin]:
        return [pin for pin in self.pins if pin.direction == "input"]

    @property
    def outputs(self) -> list[Pin]:
        return [pin for pin in self.pins if pin.direction == "output"]

    @property
    def is_flip_flop(self) -> bool:
        return "ff" in self.groups

    @property
    def is_sequential(self) -> bool:
        return bool(self.groups & {"ff", "ff_bank", "latch", "latch_bank", "statetable"}) or bool(
            self.clock_gate
        )

    @cached_property
    def truth_table(self) -> tuple[bool, ...] | None:
        """The output for every input, the first input changing fastest; None unless the cell is a gate with one output."""
        if self.is_sequential or len(self.outputs) != 1 or not 1 <= len(self.inputs) <= 6:
            return None
        names = [pin.name for pin in self.inputs]
        return truth_table(self.outputs[0].function, names)


@dataclass(frozen=True)
class Library:
    """One or several Liberty files of one corner, as one set of cells."""

    name: str
    cells: dict[str, Cell]
    time_ns: float
    capacitance_ff: float
    texts: tuple[bytes, ...] = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """Identifies the contents, independent of the names of the files and of their packing."""
        return hashlib.sha256(b"".join(hashlib.sha256(text).digest() for text in self.texts)).hexdigest()

    def smallest(self, table: tuple[bool, ...]) -> Cell | None:
        """Returns the smallest usable cell of this truth table."""
        found = (cell for cell in self.usable if cell.truth_table == table)
        return min(found, key=lambda cell: (cell.area, cell.name), default=None)

    @property
    def usable(self) -> list[Cell]:
        """Cells that synthesis may choose. A cell without an area is a filler or a mistake, and no free gate."""
        return [cell for cell in self.cells.values() if not cell.dont_use and cell.area > 0]

    @cached_property
    def nand2(self) -> Cell:
        """The smallest two-input NAND: its area is one gate equivalent."""
        cell = self.smallest((True, True, True, False))
        assert cell is not None, "checked when the library was loaded"
        return cell

    @cached_property
    def driver(self) -> Cell:
        """The cell that is assumed to drive the inputs: the smallest buffer, or the inverter of a library without one."""
        cell = self.smallest((False, True)) or self.smallest((True, False))
        assert cell is not None, "checked when the library was loaded"
        return cell

    @cached_property
    def load_ff(self) -> float:
        """The assumed load of an output in femtofarads: four inputs of the driver."""
        return 4 * self.driver.inputs[0].capacitance * self.capacitance_ff

    @cached_property
    def flip_flops(self) -> list[Cell]:
        """The flip-flops that registers are mapped to: the plain ones.

        Those with an enable are left out. ABC would not see the load of all the enable pins, and would leave the
        cell that drives them without a buffer; and a multiplexer takes less than the difference in area.
        """
        found = [cell for cell in self.usable if cell.is_flip_flop]
        return [cell for cell in found if cell.plain] or found

    @cached_property
    def flip_flop(self) -> Cell:
        """The smallest flip-flop: the area of a stored bit in the structural floor."""
        return min(self.flip_flops, key=lambda cell: (cell.area, cell.name))

    @cached_property
    def clock_gate(self) -> Cell | None:
        """The clock gate for flip-flops that load at a rising edge: one without test pins if possible, then the smallest.

        Libraries often mark clock gates ``dont_use``, so that synthesis does not use them as logic.
        """
        found = [
            cell
            for cell in self.cells.values()
            if cell.clock_gate.startswith("latch_posedge")
            and cell.area > 0
            and {"clock", "enable", "out"} <= {pin.gating for pin in cell.pins}
        ]
        return min(found, key=lambda cell: (len(cell.inputs), cell.area, cell.name), default=None)

    @cached_property
    def mux2(self) -> Cell | None:
        """The smallest two-input multiplexer, whatever the order of its pins."""
        tables = {
            tuple(bool(row[data1] if row[select] else row[data0]) for row in input_rows(3))
            for select, data0, data1 in itertools.permutations(range(3))
        }
        found = [cell for table in tables if (cell := self.smallest(table)) is not None]
        return min(found, key=lambda cell: (cell.area, cell.name), default=None)

    @cached_property
    def timed(self) -> bool:
        """Whether the gates have delays; without delays there is an area and no clock."""
        return all(pin.timed for cell in (self.nand2, self.flip_flop) for pin in cell.outputs[:1])

    @property
    def kge(self) -> float:
        """Area of a thousand gate equivalents."""
        return 1000 * self.nand2.area
