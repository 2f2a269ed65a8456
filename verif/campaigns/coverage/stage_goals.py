"""The situations that the regression of a quantiser or a dequantiser must bring up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cdma.hdl.spec.quantisation import Quantisation
from cdma.hdl.spec.stage import STAGES
from cdma.verif.simulator.design import Design
from cdma.verif.stream.stage.classes import integer_kinds, number_kinds

from .goals import Goal, Sample, cross

__all__ = ["STAGE_GOALS"]

_LENGTHS = ("part of a beat", "a beat", "whole beats", "beats and a part")
_STEPS = ("least step", "middle step", "greatest step")
_REPORTS = ("none out of range", "one out of range", "several out of range", "all out of range")
_FLOWS = "nothing holds back"

#: Cycles without a beat between two packets that follow at once: a quantiser needs one for its report.
_AT_ONCE = 1


def _quantises(design: Design) -> bool:
    return design.block == STAGES[0]


def _length(words: int, design: Design) -> str:
    lanes = design.config.lanes
    if words < lanes:
        return _LENGTHS[0]
    return _LENGTHS[1 if words == lanes else 2 if words % lanes == 0 else 3]


def _lengths(design: Design) -> Iterable[str]:
    # A beat of one lane is never a part of one.
    return _LENGTHS if design.config.lanes > 1 else _LENGTHS[1:3]


def _ends(design: Design) -> list[str]:
    return ["s_axis", "m_axis", *(["m_report"] if _quantises(design) else [])]


def _held(sample: Sample) -> list[str]:
    return list(sample["held"]) or [_FLOWS]


def _step(sample: Sample, form: Quantisation) -> str:
    return _STEPS[0 if sample["step"] == 1 else 2 if sample["step"] == form.greatest_step else 1]


def _steps(form: Quantisation) -> dict[str, int]:
    """A step of each kind, as the port has it."""
    return dict(zip(_STEPS, (1, form.number_type.bias, form.greatest_step), strict=True))


def _kinds(design: Design) -> Iterator[str]:
    for name, step in _steps(design.config.form).items():
        kinds = number_kinds(design.config.form, step) if _quantises(design) else integer_kinds()
        yield from cross(kinds, [name])


def _kind(sample: Sample, design: Design) -> Iterable[str]:
    return cross(sample["kinds"], [_step(sample, design.config.form)])


def _lengths_held(design: Design) -> Iterator[str]:
    """A packet of one beat is never held back in its middle."""
    for length in _lengths(design):
        ends = _ends(design) if length in _LENGTHS[2:] else _ends(design)[1:]
        yield from cross([length], [_FLOWS, *ends])


def _length_held(sample: Sample, design: Design) -> Iterable[str]:
    return cross([_length(sample["words"], design)], _held(sample)) if sample["words"] else ()


def _report(sample: Sample) -> str:
    reported = sample["reported"]
    if reported == sample["words"] > 1:
        return _REPORTS[3]
    return _REPORTS[min(reported, 2)]


def _report_held(sample: Sample, design: Design) -> Iterable[str]:
    return cross([_report(sample)], _held(sample)) if sample["words"] else ()


def _first(sample: Sample, design: Design) -> Iterator[str]:
    lanes = design.config.lanes
    if sample["reported"]:
        beat = "the first beat" if sample["first"] < lanes else "a later beat"
        yield f"lane {sample['first'] % lanes} of {beat}"


def _firsts(design: Design) -> list[str]:
    return [
        f"lane {lane} of {beat}"
        for beat in ("the first beat", "a later beat")
        for lane in range(design.config.lanes)
    ]


def _follows(sample: Sample, design: Design) -> Iterator[str]:
    if sample["before"] is not None:
        change = "same step" if sample["before"] == sample["step"] else "another step"
        yield f"{change}, {'at once' if sample['gap'] <= _AT_ONCE else 'later'}"


STAGE_GOALS = (
    Goal(
        "kind by step",
        "kinds of numbers by what becomes of them, or of integers, and of steps",
        _kinds,
        _kind,
    ),
    Goal(
        "length by step",
        "words of a packet relative to the lanes, and kinds of steps",
        lambda design: cross(_lengths(design), _STEPS),
        lambda sample, design: (
            cross([_length(sample["words"], design)], [_step(sample, design.config.form)])
            if sample["words"]
            else []
        ),
    ),
    Goal(
        "held back by length",
        "which stream was held back during the packet, and its words relative to the lanes",
        _lengths_held,
        _length_held,
    ),
    Goal(
        "report by held back",
        "how many numbers of a packet were out of range, and which stream was held back during it",
        lambda design: cross(_REPORTS, [_FLOWS, *_ends(design)]),
        _report_held,
        _quantises,
    ),
    Goal(
        "first out of range",
        "the place of the first number that was out of range",
        _firsts,
        _first,
        _quantises,
    ),
    Goal(
        "empty by held back",
        "packets of which no word is kept, and which stream was held back during them",
        lambda design: [_FLOWS, *_ends(design)[1:]],
        lambda sample, design: [] if sample["words"] else _held(sample),
    ),
    Goal(
        "step before by gap",
        "whether the packet before had the same step, and whether this one followed within a cycle",
        lambda design: cross(["same step", "another step"], ["at once", "later"]),
        _follows,
    ),
)
