"""Four pictures of measured steps: by policy, over time, by memory, and beside those of the model."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.base.errors import ParameterError
from cdma.study.svg import Line, bar_chart, lane_chart, line_chart, line_panels

from .measured import OFF, Measured, Residual

__all__ = ["pictures"]

#: The network whose steps are shown over time, if there is one, and its policies.
_OVER_TIME, _POLICIES = "vgg16", ("vdnn_all", "cdma")


def pictures(rows: Sequence[Measured], residuals: Sequence[Residual]) -> dict[str, str]:
    """SVG texts by file name; a picture that the rows have nothing for is left out."""
    measured = [row for row in rows if row.ms is not None]
    if not measured:
        raise ParameterError("no row has a step that was measured, so there is nothing to draw")
    drawn = {
        "swap-steps.svg": _steps(measured),
        "swap-timeline.svg": _timelines(measured),
        "swap-memory.svg": _memory(measured),
        "swap-model.svg": _model(residuals),
    }
    return {name: text for name, text in drawn.items() if text is not None}


def _steps(rows: Sequence[Measured]) -> str:
    cases = list(dict.fromkeys(row.case for row in rows))
    policies = list(dict.fromkeys(row.policy for row in rows))
    found = {(row.case, row.policy): row.ms or 0.0 for row in rows}
    groups = [f"{network}, {batch}, {precision}" for _, network, batch, precision in cases]
    bars = {policy: [found.get((case, policy), 0.0) for case in cases] for policy in policies}
    return bar_chart(f"A step by policy, {_cards(rows)}", groups, bars, y_label="ms", width=900)


def _timelines(rows: Sequence[Measured]) -> str | None:
    timed = [row for row in rows if row.timeline and row.policy in _POLICIES]
    case = next((row.case for row in timed if row.network == _OVER_TIME), timed[0].case if timed else None)
    if case is None:
        return None
    charts = {
        f"{row.policy}, {row.ms:.1f} ms": _lanes(row.timeline or ()) for row in timed if row.case == case
    }
    card, network, batch, precision = case
    title = f"{network}, batch {batch}, {precision}, on {card}: a step raw and compressed"
    return lane_chart(title, charts, x_label="ms")


def _lanes(events: Sequence[dict[str, object]]) -> dict[str, list[tuple[float, float]]]:
    """Spans in milliseconds from the first one on, by lanes."""
    lanes: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        begin, seconds = (float(str(event[key])) for key in ("begin", "seconds"))
        lanes.setdefault(str(event["lane"]), []).append((begin * 1e3, (begin + seconds) * 1e3))
    return lanes


def _memory(rows: Sequence[Measured]) -> str | None:
    """Images per second over the memory, from batch to batch."""
    kept = [row for row in rows if row.peak and row.images_per_second]
    panels: dict[str, list[Line]] = {}
    for name in dict.fromkeys((row.network, row.precision) for row in kept):
        mine = [row for row in kept if (row.network, row.precision) == name]
        policies = dict.fromkeys(row.policy for row in mine)
        panels[", ".join(name)] = [_by_memory(policy, mine) for policy in policies]
    most = max((row.images_per_second or 0.0 for row in kept), default=0.0)
    title = f"Images per second by memory, {_cards(rows)}"
    return line_panels(title, panels, x_label="MiB", y_label="images/s", y_most=most) if panels else None


def _by_memory(policy: str, rows: Sequence[Measured]) -> Line:
    points = sorted((row.peak or 0.0, row.images_per_second or 0.0) for row in rows if row.policy == policy)
    memory, speed = zip(*points, strict=True)
    return Line(policy, [each / 2**20 for each in memory], speed, points=len(points) == 1)


def _model(residuals: Sequence[Residual]) -> str | None:
    """The model's steps over the measured ones, computation as long as that of plain training where that was measured."""
    if not residuals:
        return None
    longest = max(one.measured_ms for one in residuals)
    lines = [
        Line("equal", [0.0, longest], [0.0, longest]),
        *(
            Line(f"{part:+.0%}", [0.0, longest], [0.0, longest * (1 + part)], dashed=True)
            for part in (OFF, -OFF)
        ),
    ]
    for policy in dict.fromkeys(one.policy for one in residuals):
        mine = [one for one in residuals if one.policy == policy]
        predicted = [one.predicted_ms if one.paced_ms is None else one.paced_ms for one in mine]
        lines.append(Line(policy, [one.measured_ms for one in mine], predicted, points=True))
    return line_chart("The model's step over the measured one", lines, x_label="measured ms", y_label="ms")


def _cards(rows: Sequence[Measured]) -> str:
    return ", ".join(dict.fromkeys(row.card for row in rows))
