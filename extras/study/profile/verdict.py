"""What to do with the tensors of a report, in one line, what that rests on, and how far it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdma.study.nearest import REACH, nearest_change

from .link import Transfer
from .report import Report

__all__ = ["Advice", "advise"]

_STAY = "do not offload"
_PLAIN = "offload without compression"
_COMPRESS = "offload, compress in the engine"
#: The present rate of the link, of which whole numbers are searched.
_PRESENT = 1 << 16


@dataclass(frozen=True)
class Advice:
    """What to do with all tensors, once they do not all stay on the device, with one engine for all of them."""

    #: None if that depends on how much computation hides, which was not given.
    action: str | None
    reason: str
    #: The engine, the link and what computation hides.
    rests_on: str
    #: ``batch`` is None, because a file of tensors does not say what else is in the memory. ``memory_GiB`` is what has to be
    #: free for the tensors to stay, ``link_GBps`` the nearest rate to the host (with that back in proportion) at which the
    #: action is another one, and ``hidden_ms`` what computation has to hide of each transfer, if that is not given.
    changes_at: dict[str, dict[str, Any] | None]

    def __str__(self) -> str:
        memory, link, hidden = (self.changes_at[name] for name in ("memory_GiB", "link_GBps", "hidden_ms"))
        assert memory is not None
        parts = [
            f"Verdict: {self.action or 'none yet'}: {self.reason}",
            f"with {memory['value']:.4g} GiB free for them: {_STAY}",
        ]
        if hidden:
            parts.append(
                f"if computation hides at least {hidden['value']:.4g} ms of each transfer: {hidden['action']}"
            )
        if link:
            parts.append(
                f"with a link of {link['value']:.4g} GB/s: {link['action'] or 'it depends on the hidden times'}"
            )
        else:
            parts.append(f"no link from 1/{REACH} to {REACH} times as fast changes it")
        return f"{'; '.join(parts)}. It rests on {self.rests_on}."


def advise(report: Report) -> Advice:
    """Says whether to compress what is offloaded: whether the computation waits for less time if it is compressed.

    Where a tensor gets over the link sooner and it is not given what computation hides, it does not say: without that, all
    that shrinks would be worth it.
    """
    action = _action(report, 1.0)
    place = nearest_change(_PRESENT, lambda place: _action(report, place / _PRESENT) != action)
    hidden = None
    if action is None:
        hidden = {"value": 1e3 * max(map(_saves_until, report.transfers)), "action": _PLAIN}
    link = None
    if place is not None:
        factor = place / _PRESENT
        link = {"value": report.settings.link / 1e9 * factor, "action": _action(report, factor)}
    memory = {"value": report.raw / 2**30, "action": _STAY}
    changes = {"batch": None, "memory_GiB": memory, "link_GBps": link, "hidden_ms": hidden}
    return Advice(action, _reason(report, action), _basis(report), changes)


def _saves_until(transfer: Transfer) -> float:
    """Returns the seconds of a transfer's ways that computation has to hide so that compression saves nothing."""
    ways = zip(transfer.plain, transfer.compressed(), strict=True)
    return max((plain for plain, compressed in ways if compressed < plain), default=0.0)


def _reason(report: Report, action: str | None) -> str:
    of = f"of {len(report.tensors)} tensors"
    if action is None:
        sooner = sum(_saves_until(transfer) > 0 for transfer in report.transfers)
        return (
            f"{sooner} {of} transfer faster compressed; whether that shortens a step depends on how much of each transfer "
            "computation hides (give --hidden-forward and --hidden-backward, or --hidden)"
        )
    if not any(map(_saves_until, report.transfers)):
        return "no tensor transfers faster compressed"
    plain, chosen = report.waits
    if plain == 0:
        return "computation hides all uncompressed transfers"
    if action == _PLAIN:
        return "computation hides the time that compression would save"
    worth = sum(transfer.ours is not None and transfer.ours.worth for transfer in report.transfers)
    return f"{worth} {of} are worth compressing; computation waits {1e3 * chosen:.4g} ms instead of {1e3 * plain:.4g} ms"


def _basis(report: Report) -> str:
    settings = report.settings
    out, back = settings.rates
    link = f"{out / 1e9:g} GB/s" if out == back else f"{out / 1e9:g} GB/s to the host and {back / 1e9:g} back"
    if settings.hidden_by_name:
        hidden = "the hidden times of the file"
    elif settings.hidden is not None:
        forward, backward = 1e3 * settings.hidden.forward, 1e3 * settings.hidden.backward
        hidden = f"{forward:g} ms of each offload and {backward:g} ms of each prefetch hidden by computation"
    else:
        hidden = "unknown hidden times"
    return (
        f"one engine for all tensors, {report.engine}, ratio {report.ratio:.2f}, {settings.units} unit(s) of "
        f"{settings.unit_rate / 1e9:g} GB/s, a link of {link}, and {hidden}"
    )


def _action(report: Report, factor: float) -> str | None:
    """What to do on a link ``factor`` times as fast; None if that depends on what computation hides."""
    there = report.on_link(factor)
    if there.hidden_given:
        plain, chosen = there.waits
        return _COMPRESS if chosen < plain * (1 - 1e-9) else _PLAIN
    return None if any(map(_saves_until, there.transfers)) else _PLAIN
