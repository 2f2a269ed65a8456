"""Functional coverage: which situations a regression is to bring up, and which of them it did.

A bench leaves a sample of each packet or transfer, as it observed it. A goal sorts samples into bins, all of which are
to be met. The goals of page lists and of the error-bounded stage are here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from cdma.hdl.spec.options import PAGE_BYTES
from cdma.hdl.spec.stage import STAGES, Quantisation
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.stage.packet import integer_kinds, number_kinds

#: What a bench observed of one packet or transfer.
Sample = Mapping[str, Any]


def _any_design(design: Design) -> bool:
    return True


@dataclass(frozen=True)
class Goal:
    """Bins, each of which some sample must fall into.

    ``statement``: What it is about, in a sentence.
    ``bins``: All bins that a design can reach.
    ``of``: The bins of a sample; none if the goal is not about it.
    ``needs``: Whether the goal is for a design.
    """

    name: str
    statement: str
    bins: Callable[[Design], Iterable[str]]
    of: Callable[[Sample, Design], Iterable[str]]
    needs: Callable[[Design], bool] = _any_design


def goal(
    name: str, bins: Callable[[Design], Iterable[str]], needs: Callable[[Design], bool] = _any_design
) -> Callable[[Callable[[Sample, Design], Iterable[str]]], Goal]:
    """Makes a goal of a function that gives the bins of a sample; the function's docstring is the statement."""
    return lambda of: Goal(name, " ".join((of.__doc__ or "").split()), bins, of, needs)


@dataclass(frozen=True)
class Reached:
    """The samples in each bin of a goal."""

    goal: Goal
    counts: Mapping[str, int]

    @property
    def holes(self) -> list[str]:
        """The bins without a sample."""
        return [name for name, count in self.counts.items() if not count]

    @property
    def hit(self) -> int:
        return len(self.counts) - len(self.holes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "goal": self.goal.name,
            "statement": self.goal.statement,
            "hit": self.hit,
            "total": len(self.counts),
            "holes": self.holes,
            "bins": dict(self.counts),
        }


def evaluate(goals: Iterable[Goal], samples: Sequence[Sample], design: Design) -> list[Reached]:
    """The goals of a design, with the samples that reach them."""
    found = []
    for goal in goals:
        if goal.needs(design):
            counted = Counter(name for sample in samples for name in goal.of(sample, design))
            found.append(Reached(goal, {name: counted[name] for name in goal.bins(design)}))
    return found


def cross(*parts: Iterable[str]) -> list[str]:
    """The names of the bins of a cross: one of each part."""
    return [", ".join(names) for names in product(*parts)]


def read_samples(paths: Iterable[Path]) -> list[Sample]:
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


_PAGES = ("one page", "two pages", "more pages")
_ENDS = (
    *cross(("offload",), ("with the last page", "before the last page", "no room in its pages")),
    *cross(("prefetch",), ("with the last page", "STREAM_TRUNCATED", "STREAM_TRAILING")),
)


_FAULTS = (
    *cross(("offload",), ("WRITE_SLVERR", "WRITE_DECERR"), ("list", "page")),
    *cross(("prefetch",), ("READ_SLVERR", "READ_DECERR"), ("list", "page")),
)


def _with_pages(design: Design) -> bool:
    return bool(design.config.pages)


def _list(sample: Sample) -> int:
    """The address of a transfer's list; 0 if it has none."""
    return int(sample.get("pages_low", 0) | sample.get("pages_high", 0) << 32)


def _room(sample: Sample) -> tuple[int, int]:
    """The beginning of a transfer's pages, and their bytes."""
    if sample["channel"] == "offload":
        return sample["destination"], sample["capacity"]
    return sample["source"], sample["compressed_length"] or sample["length"]


def _sizes(design: Design) -> list[str]:
    ends = ("a byte", "part", "all") if design.config.tail_bits else ("a beat", "part", "all")
    return [
        *cross(CHANNELS, _PAGES),
        *cross(CHANNELS, ("first page",), ("a beat", "part", "all")),
        *cross(CHANNELS, ("last page",), ends),
    ]


@goal("channel by pages", _sizes, _with_pages)
def _size(sample: Sample, design: Design) -> Iterator[str]:
    """transfers with a list of pages without an error: how many they are, and what is in the first and the last
    one"""
    if sample.get("status") != "OK" or not _list(sample):
        return
    channel, (start, count) = sample["channel"], _room(sample)
    inside = start % PAGE_BYTES
    further = (inside + count - 1) // PAGE_BYTES
    yield f"{channel}, {_PAGES[min(further, 2)]}"
    if further:
        beat = design.config.host_data_bits // 8
        yield f"{channel}, first page, {_part(PAGE_BYTES - inside, beat)}"
        last = (inside + count - 1) % PAGE_BYTES + 1
        yield f"{channel}, last page, {_part(last, beat)}"
        if last == 1:
            yield f"{channel}, last page, a byte"


def _part(count: int, beat: int) -> str:
    """How much so many bytes are of a page."""
    return "a beat" if count <= beat else "all" if count == PAGE_BYTES else "part"


@goal("channel by end of pages", lambda design: _ENDS, _with_pages)
def _end(sample: Sample, design: Design) -> Iterator[str]:
    """transfers with a list of pages: whether the stream ends in the last one, before, or not in its pages"""
    if not _list(sample):
        return
    channel, status, (start, count) = sample["channel"], sample["status"], _room(sample)
    further = (start % PAGE_BYTES + count - 1) // PAGE_BYTES
    if status == "OK":
        yield f"{channel}, {'before' if _leaves_pages(sample) else 'with'} the last page"
    if channel == "offload" and status == "CAPACITY" and sample["bytes_written"]:
        yield f"{channel}, no room in its pages"
    if channel == "prefetch" and further:
        yield f"{channel}, {status}"


def _leaves_pages(sample: Sample) -> bool:
    """Whether an offload without an error has pages that its stream did not need."""
    if sample["channel"] != "offload" or sample["status"] != "OK" or not _list(sample):
        return False
    inside = sample["destination"] % PAGE_BYTES
    last, used = ((inside + sample[name] - 1) // PAGE_BYTES for name in ("capacity", "bytes_written"))
    return bool(used < last)


@goal("channel by fault of pages", lambda design: _FAULTS, _with_pages)
def _fault(sample: Sample, design: Design) -> Iterator[str]:
    """transfers with a list of pages: errors of the list, and of pages that it names"""
    if not _list(sample):
        return
    of_list = sample["address"] // PAGE_BYTES == _list(sample) // PAGE_BYTES
    yield f"{sample['channel']}, {sample['status']}, {'list' if of_list else 'page'}"


@goal(
    "fault of pages after pages left over",
    lambda design: cross(("offload",), ("WRITE_SLVERR", "WRITE_DECERR"), ("list", "page")),
    _with_pages,
)
def _fault_after(sample: Sample, design: Design) -> Iterator[str]:
    """offloads with a list of pages directly after one whose stream left pages over: errors of the list, and of pages
    that it names"""
    before = sample.get("before")
    if before and _leaves_pages(before):
        yield from _fault.of(sample, design)


PAGE_GOALS = (_size, _end, _fault, _fault_after)


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


@goal("kind by step", _kinds)
def _kind(sample: Sample, design: Design) -> Iterable[str]:
    """kinds of numbers by what becomes of them, or of integers, and of steps"""
    return cross(sample["kinds"], [_step(sample, design.config.form)])


def _lengths_held(design: Design) -> Iterator[str]:
    """A packet of one beat is never held back in its middle."""
    for length in _lengths(design):
        ends = _ends(design) if length in _LENGTHS[2:] else _ends(design)[1:]
        yield from cross([length], [_FLOWS, *ends])


@goal("held back by length", _lengths_held)
def _length_held(sample: Sample, design: Design) -> Iterable[str]:
    """which stream was held back during the packet, and its words relative to the lanes"""
    return cross([_length(sample["words"], design)], _held(sample)) if sample["words"] else ()


def _report(sample: Sample) -> str:
    reported = sample["reported"]
    if reported == sample["words"] > 1:
        return _REPORTS[3]
    return _REPORTS[min(reported, 2)]


@goal("report by held back", lambda design: cross(_REPORTS, [_FLOWS, *_ends(design)]), _quantises)
def _report_held(sample: Sample, design: Design) -> Iterable[str]:
    """how many numbers of a packet were out of range, and which stream was held back during it"""
    return cross([_report(sample)], _held(sample)) if sample["words"] else ()


@goal(
    "first out of range",
    lambda design: [
        f"lane {lane} of {beat}"
        for beat in ("the first beat", "a later beat")
        for lane in range(design.config.lanes)
    ],
    _quantises,
)
def _first(sample: Sample, design: Design) -> Iterator[str]:
    """the place of the first number that was out of range"""
    lanes = design.config.lanes
    if sample["reported"]:
        beat = "the first beat" if sample["first"] < lanes else "a later beat"
        yield f"lane {sample['first'] % lanes} of {beat}"


@goal("step before by gap", lambda design: cross(["same step", "another step"], ["at once", "later"]))
def _follows(sample: Sample, design: Design) -> Iterator[str]:
    """whether the packet before had the same step, and whether this one followed within a cycle"""
    if sample["before"] is not None:
        change = "same step" if sample["before"] == sample["step"] else "another step"
        yield f"{change}, {'at once' if sample['gap'] <= _AT_ONCE else 'later'}"


@goal("length by step", lambda design: cross(_lengths(design), _STEPS))
def _length_by_step(sample: Sample, design: Design) -> Iterable[str]:
    """words of a packet relative to the lanes, and kinds of steps"""
    return (
        cross([_length(sample["words"], design)], [_step(sample, design.config.form)])
        if sample["words"]
        else []
    )


@goal("empty by held back", lambda design: [_FLOWS, *_ends(design)[1:]])
def _empty_by_held_back(sample: Sample, design: Design) -> Iterable[str]:
    """packets of which no word is kept, and which stream was held back during them"""
    return [] if sample["words"] else _held(sample)


STAGE_GOALS = (_kind, _length_by_step, _length_held, _report_held, _first, _empty_by_held_back, _follows)
