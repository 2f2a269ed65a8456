"""The situations that the regression of a codec must bring up.

Lengths are relative to the lanes and to the window. What cannot happen, such as a packet of one word that is half full, is
found by trying all packets of up to four windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.results import CODE, NONE, PADDING, TRAILING, TRUNCATED
from cdma.verif.simulator.design import Design
from cdma.verif.stream.codec.codec_bench import bench_of
from cdma.verif.stream.codec.packet import MALFORMED

from .goals import Goal, Sample, cross

__all__ = ["CODEC_GOALS"]

_ERRORS = {
    NONE: "no error",
    TRUNCATED: "truncated",
    TRAILING: "trailing",
    CODE: "code",
    PADDING: "padding",
    MALFORMED: "malformed",
}
_TABLES = ("all entries alike", "some entries alike", "all entries different")
_FLOWS = "nothing holds back"

#: Cycles without a beat between two packets that follow at once: a decompressor needs some to report an error.
_AT_ONCE = 2


def _length(words: int, config: CodecConfig) -> str:
    lanes, window = config.lanes, config.format.window
    for holds, name in (
        (words == 0, "no words"),
        (words == 1, "one word"),
        (words < min(lanes, window), "part of a beat"),
        (words == window, "a window"),
        (words % window == 0, "whole windows"),
        (words > window, "windows and a part"),
        (words % lanes == 0, "whole beats of a window"),
    ):
        if holds:
            return name
    return "beats and a part"


def _density(literals: int, words: int) -> str:
    if literals in (0, words):
        return "all literals" if literals else "no literals"
    share = literals / words
    return "few literals" if share < 0.25 else "half literals" if share < 0.75 else "many literals"


@lru_cache(maxsize=8)
def _shapes(config: CodecConfig) -> tuple[str, ...]:
    """Lengths and densities that exist together."""
    found = {
        f"{_length(words, config)}, {_density(literals, words)}": None
        for words in range(1, 4 * config.format.window + 1)
        for literals in {0, 1, words // 8, words // 2, words - 1, words}
    }
    return tuple(found)


def _shape(sample: Sample, design: Design) -> Iterator[str]:
    if sample["words"] and not sample["error"]:
        length, density = (
            _length(sample["words"], design.config),
            _density(sample["literals"], sample["words"]),
        )
        yield f"{length}, {density}"


def _ends(design: Design) -> list[str]:
    names = ["s_axis", "m_axis", "m_report"]
    return names + (["s_length"] if design.block == "decompressor" else [])


def _held(sample: Sample) -> list[str]:
    return list(sample["held"]) or [_FLOWS]


_DENSITIES = ("no literals", "few literals", "half literals", "many literals", "all literals")


def _held_density(sample: Sample, design: Design) -> Iterable[str]:
    if not sample["words"] or sample["error"]:
        return ()
    return cross(_held(sample), [_density(sample["literals"], sample["words"])])


def _held_length(sample: Sample, design: Design) -> Iterable[str]:
    if not sample["words"] or sample["error"]:
        return ()
    return cross(_held(sample), [_length(sample["words"], design.config)])


def _one_beat(name: str, design: Design) -> bool:
    """Whether all packets of a length go in with one beat, so that nothing can be held back in the middle."""
    config = design.config
    most = {"one word": 1, "part of a beat": config.lanes - 1, "a window": config.format.window}.get(name)
    if most is None:
        return False
    if design.block == "compressor":
        return most <= config.lanes
    return config.format.header_words + most * config.format.parts <= config.units


def _lengths_held(design: Design) -> Iterator[str]:
    lengths = dict.fromkeys(shape.partition(", ")[0] for shape in _shapes(design.config))
    yield from cross(["s_axis"], [name for name in lengths if not _one_beat(name, design)])
    yield from cross([_FLOWS, *_ends(design)[1:]], lengths)


def _errors(design: Design) -> list[str]:
    errors = {NONE, MALFORMED}
    if design.block == "decompressor":
        errors |= bench_of(design.config).errors | ({PADDING} if design.config.format.padded else set())
    return [_ERRORS[error] for error in sorted(errors)]


def _table(sample: Sample) -> str:
    entries = sample["table"]
    distinct = len(set(entries))
    return _TABLES[0 if distinct == 1 else 2 if distinct == len(entries) else 1]


def _tables(design: Design) -> list[str]:
    entries = design.config.table_size
    names = [_TABLES[0]] + ([_TABLES[1]] if entries > 2 else []) + ([_TABLES[2]] if entries > 1 else [])
    return cross(names, _DENSITIES)


def _has_table(design: Design) -> bool:
    return bool(design.config.runtime_values)


CODEC_GOALS = (
    Goal(
        "length by density",
        "packets without an error: words relative to lanes and window, and the share of literals",
        lambda design: _shapes(design.config),
        _shape,
    ),
    Goal(
        "held back by density",
        "which stream was held back during the packet, and the share of literals",
        lambda design: cross([_FLOWS, *_ends(design)], _DENSITIES),
        _held_density,
    ),
    Goal(
        "held back by length",
        "which stream was held back during the packet, and its words relative to lanes and window",
        _lengths_held,
        _held_length,
    ),
    Goal(
        "error by held back",
        "how the packet ended, and which stream was held back during it",
        lambda design: cross(_errors(design), [_FLOWS, *_ends(design)]),
        lambda sample, design: cross([_ERRORS[sample["error"]]], _held(sample)),
    ),
    Goal(
        "error before by gap",
        "how the packet before ended, and whether this one followed within two cycles",
        lambda design: cross(_errors(design), ["at once", "later"]),
        lambda sample, design: (
            []
            if sample["after"] is None
            else cross([_ERRORS[sample["after"]]], ["at once" if sample["gap"] <= _AT_ONCE else "later"])
        ),
    ),
    Goal(
        "table by density",
        "the table that comes in at run time, and the share of literals",
        _tables,
        lambda sample, design: (
            cross([_table(sample)], [_density(sample["literals"], sample["words"])])
            if sample["words"] and not sample["error"]
            else []
        ),
        _has_table,
    ),
)
