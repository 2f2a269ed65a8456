"""A cell library, and the cells of it that a measurement needs."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from functools import cached_property

from .cells import Cell
from .expressions import input_rows

__all__ = ["Library"]


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
