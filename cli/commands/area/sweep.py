"""``cdma area --sweep``: many configurations, a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError
from cdma.options import cache_from, check_one_or_more, codec_config_from
from cdma.output import step_progress
from cdma.result import Result
from cdma.synth.asic.paths import MeasureError
from cdma.synth.asic.sweep.sweep import (
    Outcome,
    parse_axis,
    points,
    run_sweep,
)

from .report import assumption_about, library_of, options_of

_HEADINGS = ("kGE", "sequential, %", "flip-flops", "period, ns", "GE per byte per cycle", "times the floor")


def run(arguments: argparse.Namespace) -> Result:
    """Measures every combination; the status is 1 if a point that could be measured was not."""
    axes: dict[str, tuple[object, ...]] = {}
    for text in arguments.sweep:
        name, values = parse_axis(text)
        if name in axes:
            raise ParameterError(f"--sweep names {name} twice")
        axes[name] = values
    check_one_or_more(arguments, "jobs")
    library = library_of(arguments)
    wanted = list(points(codec_config_from(arguments), options_of(arguments, library), axes))
    if all(point.reason for point in wanted):
        raise MeasureError(f"no point of the sweep can be: {wanted[0].reason}")
    with step_progress("measuring", len(wanted)) as advance:
        outcomes = run_sweep(
            arguments.block,
            library,
            wanted,
            jobs=arguments.jobs,
            scheduler=arguments.scheduler,
            cache=cache_from(arguments),
            on_done=lambda outcome: advance(),
        )
    lost = [outcome for outcome in outcomes if outcome.reason and not outcome.point.reason]
    head = f"{arguments.block} on {library.name}"
    parts = _parts(head, assumption_about(library), axes, outcomes)
    return Result([outcome.as_json() for outcome in outcomes], parts, not lost)


def _cells(outcome: Outcome) -> list[str]:
    measurement = outcome.measurement
    if measurement is None:
        return []
    plain = measurement.plain
    period = "-" if plain.period_ns is None else f"{plain.period_ns:.3f}"
    return [
        f"{plain.kge:.2f}",
        f"{100 * plain.sequential_share:.0f}",
        str(plain.flip_flops),
        period,
        f"{outcome.ge_per_byte:.0f}",
        f"{outcome.floor_ratio:.2f}",
    ]


def _parts(
    head: str, assumption: str, axes: Mapping[str, object], outcomes: Sequence[Outcome]
) -> Iterator[Part | str]:
    yield head
    if assumption:
        yield f"Assumed: {assumption}."
    yield _table(axes, outcomes)
    for outcome in outcomes:
        if outcome.reason:
            where = ", ".join(f"{name} {value}" for name, value in outcome.point.axes.items())
            yield f"{where}: {outcome.reason}"


def _table(axes: Mapping[str, object], outcomes: Sequence[Outcome]) -> Table:
    """A row for each outcome, with dashes where nothing was measured."""
    titles = [*(name.replace("_", " ") for name in axes), *_HEADINGS]
    rows = [
        [*map(str, outcome.point.axes.values()), *(_cells(outcome) or ["-"] * len(_HEADINGS))]
        for outcome in outcomes
    ]
    return Table(titles, rows, range(len(titles)))
