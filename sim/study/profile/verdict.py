"""What to do with the tensors of a report, in one line, and how far that holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .report import Report

__all__ = ["Advice", "advise"]

_STAY = "do not offload"
_PLAIN = "offload without compression"
_COMPRESS = "offload, compress in the engine"
#: Links are searched from the present rate divided by this to the present rate multiplied by it.
_REACH = 64.0


@dataclass(frozen=True)
class Advice:
    """What to do with all tensors, once they do not all stay on the device."""

    action: str
    reason: str
    #: ``batch`` is None, because a file of tensors does not say what else is in the memory. ``memory_GiB`` is what has to be
    #: free for the tensors to stay, ``link_GBps`` the nearest rate to the host and back at which the action is another one.
    changes_at: dict[str, dict[str, Any] | None]

    def __str__(self) -> str:
        memory, link = self.changes_at["memory_GiB"], self.changes_at["link_GBps"]
        assert memory is not None
        on_link = (
            f"with a link of {link['value']:.4g} GB/s: {link['action']}" if link else "no link changes it"
        )
        return f"Verdict: {self.action}: {self.reason}; with {memory['value']:.4g} GiB free for them: {_STAY}; {on_link}."


def advise(report: Report) -> Advice:
    """Says whether to compress what is offloaded: whether the computation waits for less time if it is compressed."""
    here = _action(report, 1.0)
    plain, chosen = _waits(report, 1.0)
    if here == _COMPRESS:
        worth = sum(transfer.ours.worth for transfer in report.transfers)
        reason = (
            f"{worth} of {len(report.tensors)} tensors are worth it, and computation waits "
            f"{1e3 * chosen:.4g} ms in the place of {1e3 * plain:.4g}"
        )
    elif plain == 0:
        reason = "computation hides all transfers as they are"
    else:
        reason = "no tensor gets over the link sooner"
    factor = _crossing(report, here)
    link = report.settings.link / 1e9
    return Advice(
        here,
        reason,
        {
            "batch": None,
            "memory_GiB": {"value": report.raw / 2**30, "action": _STAY},
            "link_GBps": None
            if factor is None
            else {"value": link * factor, "action": _action(report, factor)},
        },
    )


def _waits(report: Report, factor: float) -> tuple[float, float]:
    """Returns seconds of waiting on a link ``factor`` times as fast, plain and with what is worth it compressed."""
    waits = [transfer.ours for transfer in report.on_link(factor).transfers]
    return sum(wait.plain for wait in waits), sum(min(wait.plain, wait.compressed) for wait in waits)


def _action(report: Report, factor: float) -> str:
    plain, chosen = _waits(report, factor)
    return _COMPRESS if chosen < plain * (1 - 1e-9) else _PLAIN


def _crossing(report: Report, here: str) -> float | None:
    """Returns the factor, nearest to 1, of the link's rate at which the action is not ``here``, to a thousandth."""
    same = {2.0: 1.0, 0.5: 1.0}
    while max(same.values()) < _REACH:
        found = []
        for step, inside in same.items():
            outside = inside * step
            if _action(report, outside) != here:
                found.append(_bisect(report, here, inside, outside))
            same[step] = outside
        if found:
            return min(found, key=lambda factor: abs(math.log(factor)))
    return None


def _bisect(report: Report, here: str, inside: float, outside: float) -> float:
    while abs(math.log(outside / inside)) > 1e-3:
        middle = math.sqrt(inside * outside)
        if _action(report, middle) == here:
            inside = middle
        else:
            outside = middle
    return outside
