"""Where the assumptions may lie, and the variations of them that give bands."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cdma.base.toml_table import Table, TableError, read_toml

from .assumptions import Assumptions, default_assumptions_path

__all__ = ["Range", "Variation", "draws", "load_ranges", "variations"]


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
