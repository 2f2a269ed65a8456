"""The benches of GPUs and of what autograd keeps, which :mod:`cdma.command` finds: all are ``cdma bench …``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["BENCHES", "in_turn"]

BENCHES = tuple(f"{__name__}.{name}" for name in ("swap", "batch", "saved", "stream", "kernels", "gpu"))


def in_turn(
    what: str, units: Sequence[Any], rows_of: Callable[[Any], Iterable[dict[str, Any]]], rows: int = 0
) -> list[dict[str, Any]]:
    """The rows of each unit, with a bar over the units, or over so many ``rows`` of each."""
    from cdma.output import step_progress

    found = []
    with step_progress(what, len(units) * (rows or 1)) as advance:
        for unit in units:
            for row in rows_of(unit):
                found.append(row)
                advance(1 if rows else 0)
            advance(0 if rows else 1)
    return found
