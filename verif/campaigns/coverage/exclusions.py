"""Reads Verilator's coverage counts, and excludes what no input can reach, each with its reason.

Verilator writes a line for each point: how often a statement ran, a branch was taken, a bit rose or fell. Counts of
several simulations of the same Verilog add up. An exclusion that matches nothing fails a run, and so does one that
matches a point which was reached.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cdma.base.errors import CdmaError
from cdma.verif.simulator.simulate import Design

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

    ``block``: The instance it is in, such as ``compressor.core.packer``.
    ``line``, ``column``: The place in the Verilog, both from 1.
    ``kind``: :data:`LINE`, :data:`BRANCH` or :data:`TOGGLE`.
    ``what``: The branch (``if``, ``else``, ``cond_then``, ``cond_else``), or the bit and its direction.
    ``lines``: The lines of statements that run just when the point is reached.
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


@dataclass(frozen=True)
class Exclusion:
    """Points that are unreachable.

    ``block``: A regular expression for the whole name of the instance, such as ``compressor.core.packer``.
    ``text``: A regular expression for a part of the line as :func:`marked` writes it, with the branch in ``«»``.
    ``reason``: Why nothing reaches them, in words.
    ``proof``: The property of ``cdma prove`` that shows it, if there is one.
    ``needs``: Whether a design has such points.
    ``tied``: Excludes only modules of which every instance has a 1 at the port in the group ``port`` of ``text``.
    """

    block: str
    text: str
    reason: str
    needs: Callable[[Design], bool]
    proof: str = ""
    tied: bool = False

    def matches(self, point: Point, lines: Sequence[str]) -> bool:
        if point.kind not in (LINE, BRANCH) or re.fullmatch(self.block, point.block) is None:
            return False
        found = re.search(self.text, marked(point, lines[point.line - 1]))
        return found is not None and (not self.tied or _tied(lines, point.line, found["port"]))


def marked(point: Point, line: str) -> str:
    """A line of the Verilog with the point in ``«»``."""
    # Of the two branches of a condition the second one has the next column.
    column = point.column - 1 - (point.what in ("else", "cond_else"))
    return f"{line[:column]}«{point.what}»{line[column:]}".strip()


def match(
    exclusions: Sequence[Exclusion], points: Iterable[Point], lines: Sequence[str]
) -> dict[Exclusion, list[Point]]:
    found: dict[Exclusion, list[Point]] = {each: [] for each in exclusions}
    for point in points:
        for exclusion in exclusions:
            if exclusion.matches(point, lines):
                found[exclusion].append(point)
    return found


def _tied(lines: Sequence[str], line: int, port: str) -> bool:
    """Whether every instance of the module around a line has a 1 at a port."""
    module = next(text.split()[1] for text in reversed(lines[:line]) if text.startswith("module "))
    instances = re.findall(rf"^  {module} \S+ \((.*?)\);", "\n".join(lines), re.DOTALL | re.MULTILINE)
    return bool(instances) and all(f".{port}(1'b1)" in instance for instance in instances)


def _engine(design: Design) -> bool:
    return design.block == "engine"


def _pipelined_engine(design: Design) -> bool:
    return _engine(design) and design.config.pipelined


def _engine_of_two_dimensions(design: Design) -> bool:
    """The innermost one has the names below."""
    return _engine(design) and design.config.dimensions == 2


def _engine_of_one_unit(design: Design) -> bool:
    return _engine(design) and design.config.units == 1


def _plain_engine_of_one_unit(design: Design) -> bool:
    """Both channels have the same completer, and both codecs the same counter."""
    return _engine_of_one_unit(design) and not design.config.pipelined


def _engine_of_units(design: Design) -> bool:
    return _engine(design) and design.config.units > 1


def _eight_lanes_of_units(design: Design) -> bool:
    """The last lane has the names below."""
    return _engine_of_units(design) and design.config.codec.units == 8


def _lists_all_values(design: Design) -> bool:
    return re.search(_UNKNOWN.replace("«case»", ""), design.verilog()) is not None


#: Of a selection that lists all values, as coverage marks it.
_UNKNOWN = r"«case»default: \w+ <?= \{\d+\{1'bx\}\};"

EXCLUSIONS: tuple[Exclusion, ...] = (
    Exclusion(
        r".*",
        _UNKNOWN,
        "all values of what selects are listed, so the default is for an unknown one in four-state simulation",
        _lists_all_values,
    ),
    Exclusion(
        r".*",
        r"«else»if \((?P<port>(read|write)\d?_enable)\)",
        "all memories of this module read, or are written, in every cycle: their enable is a constant 1",
        _engine,
        tied=True,
    ),
    Exclusion(
        r"engine\.engine\.offload\.completer",
        r"report_error == ERROR_CODE\) «cond_then»\?|report_error == ERROR_\w+\) \? «cond_(then|else)»STATUS_STREAM_",
        "the report of a compressor, whose completer is like that of a decompressor, has no error of a stream",
        _pipelined_engine,
    ),
    Exclusion(
        r"engine\.engine\.offload\.path\.(unit_\d+\.)?switch\.codec\.report",
        r"malformed \? «cond_then»",
        "the reader of the engine gives whole words without a hole, so no beat is malformed",
        _engine,
    ),
    Exclusion(
        r"engine\.engine\.prefetch\.path\.switch\.codec\.(tally|reports)",
        r"malformed \? «cond_then»",
        "the reader of the engine gives whole stream words without a hole, so no beat is malformed",
        _engine_of_one_unit,
    ),
    Exclusion(
        r"engine\.engine\.prefetch\.path\.switch\.codec\.reader",
        r"left_nothing \? «cond_then»",
        "the check refuses a length of 0, so no packet has nothing left at its beginning",
        _pipelined_engine,
        proof="checker_decides",
    ),
    Exclusion(
        r"engine\.engine\.offload\.path\.switch\.codec\.report\.windows",
        r"«else»if \(input_ready\)",
        "reports of an engine's codec are taken at once, so the register that has one is never full",
        _pipelined_engine,
    ),
    Exclusion(
        r"engine_path_switch_codec_tally",
        r"«else»if \(~hold\)",
        "reports of an engine's codec are taken at once, so no counter of literals waits",
        _plain_engine_of_one_unit,
    ),
    Exclusion(
        r"engine\.engine\.offload\.path\.collector",
        r"wrong \? «cond_then»",
        "the verdict of a compressor has no error of a stream",
        _engine_of_units,
    ),
    Exclusion(
        r"engine\.engine\.offload\.path\.joiner\.fill",
        r"lane_7_write_address = below\[7\] \? following«cond_then»",
        "the last lane of a beat is below no place in it",
        _eight_lanes_of_units,
    ),
    Exclusion(
        r"engine\.engine\.prefetch\.path\.splitter\.store",
        r"below\[0\] \? following«cond_else»",
        "at least a word is taken of the held beat, so that what comes next has the first lane of the next one",
        _engine_of_units,
    ),
    Exclusion(
        r"engine\.engine\.prefetch\.path\.splitter\.walk",
        r"«if»if \(input_length_\w+_plus_7\[6:3\] == 4'd0\)",
        "a window has a header, so after one in the last lane the next one is in a later beat",
        _eight_lanes_of_units,
    ),
    Exclusion(
        r"engine\.engine\.prefetch\.completer|engine_completer",
        r"report_error == ERROR_TRUNCATED\) \? «cond_else»",
        "an error of the report that is no error of the stream is a malformed beat, which the reader never gives",
        _engine,
    ),
    Exclusion(
        r"engine\.engine\.prefetch\.completer",
        r"tickets_overflow \? «cond_then»",
        "the check refuses a prefetch whose length exceeds its capacity, so its writer never finds that it does not fit",
        _pipelined_engine,
        proof="checker_decides",
    ),
    Exclusion(
        r"engine_path_feed_walker|engine\.engine\.\w+\.path\.feed\.walker",
        r"moves_1 \? index_1 «cond_else»",
        "a step that does not set the innermost dimension of a shape back moves it on",
        _engine_of_two_dimensions,
    ),
    Exclusion(
        r"engine\..*",
        r"«case»default: (\w*state) <= \1;",
        "a state machine is always in one of its states, which are all listed",
        _engine,
    ),
)
