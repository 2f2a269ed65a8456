"""What of the Verilog no input can reach, each with its reason; everything else is to be reached.

An exclusion that matches nothing fails a run, and so does one that matches a point which is reached all the same: its
reason is then wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cdma.verif.simulator.design import Design

from .points import BRANCH, LINE, Point

__all__ = ["EXCLUSIONS", "Exclusion", "marked", "match"]


@dataclass(frozen=True)
class Exclusion:
    """Points that are unreachable.

    ``block``
        Is a regular expression for the whole name of the instance, such as ``compressor.core.packer``.
    ``text``
        Is a regular expression for a part of the line as :func:`marked` writes it: the branch stands in it, in ``«»``.
    ``reason``
        Says why nothing reaches them, in words.
    ``proof``
        Names the property of ``cdma prove`` that says so, where there is one.
    ``needs``
        Tells whether a design has such points.
    """

    block: str
    text: str
    reason: str
    needs: Callable[[Design], bool]
    proof: str = ""

    def matches(self, point: Point, line: str) -> bool:
        """Whether it is about a point, which is on ``line`` of the Verilog."""
        return (
            point.kind in (LINE, BRANCH)
            and re.fullmatch(self.block, point.block) is not None
            and re.search(self.text, marked(point, line)) is not None
        )


def marked(point: Point, line: str) -> str:
    """A line of the Verilog with what a point is about in ``«»``, where it is."""
    # Of the two branches of a condition the second one has the next column.
    column = point.column - 1 - (point.what in ("else", "cond_else"))
    return f"{line[:column]}«{point.what}»{line[column:]}".strip()


def match(
    exclusions: Sequence[Exclusion], points: Iterable[Point], lines: Sequence[str]
) -> dict[Exclusion, list[Point]]:
    """The points that each exclusion is about; ``lines`` are those of the Verilog."""
    found: dict[Exclusion, list[Point]] = {each: [] for each in exclusions}
    for point in points:
        for exclusion in exclusions:
            if exclusion.matches(point, lines[point.line - 1]):
                found[exclusion].append(point)
    return found


def _plain_engine(design: Design) -> bool:
    """An engine of one unit with codecs that are not pipelined: the blocks have the names below."""
    return design.block == "engine" and design.config.units == 1 and not design.config.pipelined


EXCLUSIONS: tuple[Exclusion, ...] = (
    Exclusion(
        r"engine\.engine\.offload\.completer",
        r"report_error == 8'd3\) «cond_then»\?|report_error == 8'd[123]\) \? «cond_(then|else)»8'h",
        "the report of a compressor, whose completer is the same as that of a decompressor, has no error of a stream",
        _plain_engine,
    ),
    Exclusion(
        r"engine\.engine\.offload\.path\.switch\.codec\.report",
        r"malformed \? «cond_then»",
        "the reader of the engine gives whole words without a hole, so no beat is malformed",
        _plain_engine,
    ),
    Exclusion(
        r"engine\.engine\.prefetch\.path\.switch\.codec\.tally",
        r"malformed \? «cond_then»",
        "the reader of the engine gives whole stream words without a hole, so no beat is malformed",
        _plain_engine,
    ),
)
