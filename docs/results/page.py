"""The pages of results: their texts with the figures of the records in their places, and the parts of an engine, from the
breakdown of its area by block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from cdma.synth.asic.scaling import RULES, scaled

from .records import Record

CODECS = "codecs, their switches, width adapters"
#: What the path of a block ends with or has in it, by part; the first that fits counts.
PARTS = {
    CODECS: r"path\.(switch|checksum|reports|.*width)",
    "readers": r"path\.reader",
    "writers": r"path\.writer",
    "checks of descriptors": r"checker_|windows",
    "descriptors in flight": r"slots",
    "completions": r"completer",
    "rings": r"(^|\.)rings",
    "registers": r"registers",
    "counters": r"counters",
    "arbiters of the host port": r"host_(reads|writes)",
    "time and watchdogs": r"timebase|watchdog",
    "the rest": r"",
}
#: The blocks between several clocks.
_CROSSINGS = r"host_crossing|register_crossing|irq_synchroniser"


def parts_of(breakdown: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """kGE of each part."""
    found = dict.fromkeys(PARTS, 0.0)
    for row in breakdown:
        part = next(part for part, pattern in PARTS.items() if re.search(pattern, row["block"]))
        found[part] += row["kge"]
    return found


DOCS = Path(__file__).resolve().parents[1]
_PAGES = ("results.md", "options.md")
_MISSING = "-"
#: After the revision of a record that is of another circuit, source or recipe.
_STALE = "†"


def pages(records: Mapping[str, Record]) -> dict[str, str]:
    """The texts of ``docs/results.md`` and ``docs/options.md``, by their names: every figure in them is of a record."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"n": number, "share": share, "points": points}
    figures = {name: record.figures for name, record in records.items()}
    codecs = sum(figures[f"{block}-table"]["kge"] for block in ("compressor", "decompressor"))
    given = {
        "f": figures,
        "codecs": codecs,
        "kges": lambda units: figures["engine-0.9" if units == 1 else f"engine-units-{units}"]["kge"],
        "parts": {name: parts_of(figures[f"profile-{name}"]["breakdown"]) for name in ("minimal", "default")}
        | {name: parts_of(figures[f"engine-{name}"]["breakdown"]) for name in ("pairs-4", "pairs-8")},
        "codecs_part": CODECS,
        "crossings": sum(
            row["kge"] for row in figures["engine-clocks"]["breakdown"] if re.search(_CROSSINGS, row["block"])
        ),
        "slack": lambda rows: min(row["bound"] - row["cycles"] for row in rows),
        "revision": {name: record.revision + _STALE * record.stale for name, record in records.items()},
        "command": {name: record.command for name, record in records.items()},
        "versions": {name: record.versions for name, record in records.items()},
        "whole": whole(figures["engine-units-6"]),
        "tools": tools(records),
    }
    return {name: environment.get_template(f"{name}.jinja").render(given) for name in _PAGES}


def whole(engine: Mapping[str, Any]) -> list[dict[str, float]]:
    """The mm² of an engine with its memories at the paper's feature size, by each rule of scaling."""
    return [{"mm2": scaled(rule, engine["area_um2"], 45, engine["memory_bits"])} for rule in RULES]


def number(value: float | jinja2.Undefined | None, digits: int = 0) -> str:
    """A figure, or a dash where the record has none."""
    return _MISSING if value is None or isinstance(value, jinja2.Undefined) else f"{value:,.{digits}f}"


def share(value: float, digits: int = 1) -> str:
    return f"{value:.{digits}%}"


def points(row: Mapping[str, float]) -> str:
    """The difference of an accuracy, with its standard error, in points."""
    return f"{100 * row['difference']:+.2f} ± {100 * row['difference_error']:.2f}"


def tools(records: Mapping[str, Record]) -> list[str]:
    """The tools that figures were measured with and their versions, of some of which there are several."""
    versions = {item for record in records.values() for item in record.versions.items()}
    return sorted({value if " " in value else f"{tool} {value}" for tool, value in versions}, key=str.lower)
