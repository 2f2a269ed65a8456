"""Reads what Verilator counts: how often each statement ran, each branch was taken, and each bit rose and fell.

The file that a simulation leaves has one line for each point, with fields of a name and a value. Counts of several
simulations of the same Verilog add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cdma.base.errors import CdmaError

__all__ = ["BRANCH", "LINE", "TOGGLE", "Point", "PointError", "merge_points", "read_points"]

#: The kinds of points.
LINE, BRANCH, TOGGLE = "line", "branch", "toggle"

#: The branches of statements; the others are those of conditional expressions.
_STATEMENTS = ("if", "else", "elsif", "case")

#: Before each field of a record, and between its name and its value.
_FIELD, _VALUE = "\x01", "\x02"


class PointError(CdmaError):
    """A file is not what Verilator writes."""


@dataclass(frozen=True, order=True)
class Point:
    """Something that a simulation does or does not do.

    ``block``
        Is the instance it is in, such as ``compressor.core.packer``.
    ``line``, ``column``
        Say where it is in the Verilog, both from 1.
    ``kind``
        Is :data:`LINE`, :data:`BRANCH` or :data:`TOGGLE`.
    ``what``
        Is the branch (``if``, ``else``, ``cond_then``, ``cond_else``), or the bit and its direction.
    ``lines``
        Are the lines of statements that run just when the point is reached.
    """

    block: str
    line: int
    column: int
    kind: str
    what: str
    lines: tuple[int, ...] = ()

    @property
    def statements(self) -> tuple[int, ...]:
        """The lines for which the point counts: those of statements, not those of expressions."""
        counts = self.kind == LINE or (self.kind == BRANCH and self.what in _STATEMENTS)
        return self.lines if counts else ()


def read_points(path: Path) -> Counter[Point]:
    """The points of one simulation and their counts, also those with a count of 0."""
    counts: Counter[Point] = Counter()
    with path.open(encoding="utf-8", errors="replace") as file:
        if not file.readline().startswith("# SystemC::Coverage-3"):
            raise PointError(f"{path} is not a coverage file of Verilator")
        for record in file:
            if record.startswith("C '"):
                text, _, count = record[3:].rpartition("' ")
                fields = dict(part.partition(_VALUE)[::2] for part in text.split(_FIELD)[1:])
                counts[_point(fields)] += int(count)
    return counts


def merge_points(paths: Iterable[Path]) -> Counter[Point]:
    """The sum of several simulations of the same Verilog."""
    total: Counter[Point] = Counter()
    for path in paths:
        total.update(read_points(path))
    return total


def _point(fields: Mapping[str, str]) -> Point:
    kind, _, module = fields["page"].removeprefix("v_").partition("/")
    # An instance of its own stands for each module of the generator; what Verilator has merged has a star instead.
    block = fields.get("h", "*").lstrip(".")
    return Point(
        (module if "*" in block else block).removeprefix("cdma_"),
        int(fields["l"]),
        int(fields["n"]),
        kind,
        fields.get("o", ""),
        tuple(_numbers(fields.get("S", ""))),
    )


def _numbers(text: str) -> Iterable[int]:
    """The numbers of a list such as ``12-15,20``."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
