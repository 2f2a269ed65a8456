"""What compressing the tensors of a network by one engine buys on a link, for each tensor and for all together. What to
do with the tensors of a report, in one line, what that rests on, and how far it holds.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.fit import Fit, NothingToProfile, TensorProfile
from cdma.study.system.verdict import REACH, nearest_change

from .link import Settings, Transfer, Verdict

#: A number of units is enough if transfers take at most this many times as long as with any number.
_ENOUGH = 1.01


@dataclass(frozen=True)
class Report:
    """All tensors of a network under one set of settings.

    All times and ratios are those of one engine, with the format that makes all tensors together smallest; what each tensor
    would be in a format of its own is in ``apart``.
    """

    tensors: tuple[TensorProfile, ...]
    settings: Settings

    def __post_init__(self) -> None:
        if not self.tensors:
            raise NothingToProfile("there is no tensor to profile")
        names = {tensor.name for tensor in self.tensors}
        if unknown := [name for name in self.settings.hidden_by_name if name not in names]:
            raise ParameterError(f"hidden times are given for {unknown[0]!r}, but no tensor has that name")
        if self.settings.hidden is None and self.settings.hidden_by_name:
            for name in names - set(self.settings.hidden_by_name):
                raise ParameterError(
                    f"hidden times are given for some tensors, but not for {name!r} and not for all"
                )

    @cached_property
    def engine(self) -> Fit:
        """The kind of format of the engine, and the bytes of all tensors in it, each with its own table."""
        return self.formats()[0]

    @cached_property
    def transfers(self) -> tuple[Transfer, ...]:
        """The transfers of each tensor."""
        kind = self.engine.kind
        return tuple(Transfer(tensor, self.settings, _in_kind(tensor)[kind]) for tensor in self.tensors)

    @property
    def hidden_given(self) -> bool:
        """Whether it is known what computation hides, without which there is no verdict."""
        return self.settings.hidden is not None or bool(self.settings.hidden_by_name)

    def on_link(self, factor: float) -> Report:
        """Returns the report for a link so many times as fast, both ways."""
        out, back = self.settings.rates
        return replace(self, settings=replace(self.settings, link=out * factor, link_back=back * factor))

    @property
    def raw(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.raw for tensor in self.tensors)

    @property
    def compressed(self) -> int:
        """Compressed bytes of all tensors."""
        return self.engine.compressed

    @property
    def ratio(self) -> float:
        """Raw bytes per compressed byte."""
        return self.raw / self.compressed

    @property
    def apart(self) -> int:
        """Compressed bytes of all tensors if each had the format that suits it best, which no one engine has."""
        return sum(tensor.best.compressed for tensor in self.tensors)

    def link_seconds(self, *, compressed: bool, units: float | None = None) -> float:
        """Returns seconds on the link, both ways, of all tensors."""
        if compressed:
            return sum(sum(transfer.compressed(units)) for transfer in self.transfers)
        return sum(self.raw / rate for rate in self.settings.rates)

    @property
    def speedup(self) -> float:
        """How many times faster all transfers are when everything is compressed."""
        return self.link_seconds(compressed=False) / self.link_seconds(compressed=True)

    @property
    def waits(self) -> tuple[float, float]:
        """Seconds for which computation waits, plain and with what is worth it compressed; needs what computation hides."""
        waits = [transfer.ours for transfer in self.transfers if transfer.ours is not None]
        assert len(waits) == len(self.transfers)
        return sum(wait.plain for wait in waits), sum(min(wait.plain, wait.compressed) for wait in waits)

    @property
    def speedup_selected(self) -> float | None:
        """How many times shorter waits are if only what is worth it is compressed; None without what computation hides."""
        if not self.hidden_given:
            return None
        plain, chosen = self.waits
        return plain / chosen if chosen else (math.inf if plain else 1.0)

    @property
    def units_at_peak(self) -> int:
        """The fewest units with which the link, and not they, limits the transfers of every tensor."""
        return max(transfer.units for transfer in self.transfers)

    @property
    def units_enough(self) -> int:
        """The fewest units with which all transfers together take at most 1 % longer than with any number."""
        limit = _ENOUGH * self.link_seconds(compressed=True, units=math.inf)
        return (
            bisect_left(
                range(1, self.units_at_peak),
                True,
                key=lambda units: self.link_seconds(compressed=True, units=units) <= limit,
            )
            + 1
        )

    def formats(self) -> list[Fit]:
        """Returns the kinds of format that every tensor can have, with the bytes of all tensors, fewest bytes first.

        An engine is generated for one kind of format; its table is set for each tensor. Formats that do not fit the
        elements of some tensor are left out.
        """
        totals: dict[Format, list[int]] = {}
        for tensor in self.tensors:
            for kind, fit in _in_kind(tensor).items():
                totals.setdefault(kind, []).append(fit.compressed)
        whole = [Fit(kind, sum(sizes)) for kind, sizes in totals.items() if len(sizes) == len(self.tensors)]
        return sorted(whole, key=lambda fit: (fit.compressed, fit.format.code_bits, -fit.format.word_bits))

    def as_dict(self) -> dict[str, Any]:
        """The report, for JSON."""
        settings, engine = self.settings, self.engine
        return {
            "settings": {
                **{key: value for key, value in asdict(settings).items() if key != "hidden_by_name"},
                "link_back": settings.rates[1],
            },
            "raw_bytes": self.raw,
            "compressed_bytes": self.compressed,
            "ratio": self.ratio,
            "apart_bytes": self.apart,
            "link_s": self.link_seconds(compressed=False),
            "compressed_link_s": self.link_seconds(compressed=True),
            "speedup": self.speedup,
            "speedup_selected": _or_none(self.speedup_selected),
            "units_enough": self.units_enough,
            "units_at_peak": self.units_at_peak,
            "engine": {"name": str(engine), **_parameters(engine.format)},
            "tensors": [_row(transfer) for transfer in self.transfers],
        }

    def __str__(self) -> str:
        width = max(len(tensor.name) for tensor in self.tensors)
        lines = [f"{'tensor':{width}}  {'MB':>9}  density  ratio  suits        worth it"]
        for tensor, transfer in zip(self.tensors, self.transfers, strict=True):
            lines.append(
                f"{tensor.name:{width}}  {tensor.raw / 1e6:9.3f}  {tensor.density:7.3f}  "
                f"{transfer.ratio:5.2f}  {tensor.best!s:11}  {worth(transfer.ours)}"
            )
        lines.append(
            f"{self.raw / 1e6:,.3f} MB become {self.compressed / 1e6:,.3f} MB in one engine, {self.engine}; "
            f"transfers are {self.speedup:.2f} times as fast with {self.settings.units} unit(s); "
            f"{self.units_enough} are enough for this link"
        )
        return "\n".join(lines)


def worth(verdict: Verdict | None) -> str:
    """Returns whether compression is worth it, in a word of a table."""
    return "?" if verdict is None else "yes" if verdict.worth else "no"


def _in_kind(tensor: TensorProfile) -> dict[Format, Fit]:
    """The smallest fit of a tensor in each kind of format."""
    least: dict[Format, Fit] = {}
    for fit in tensor.fits:
        if fit.kind not in least or fit.compressed < least[fit.kind].compressed:
            least[fit.kind] = fit
    return least


def _row(transfer: Transfer) -> dict[str, Any]:
    tensor, ours, cswap = transfer.tensor, transfer.ours, transfer.cswap
    best, plain, compressed = tensor.best, sum(transfer.plain), sum(transfer.compressed())
    return {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "raw_bytes": tensor.raw,
        "density": tensor.density,
        "minus_zeros": tensor.minus_zeros,
        "ratio": transfer.ratio,
        "values": list(transfer.fit.format.values),
        "zvc_ratio": tensor.raw / tensor.zvc.compressed,
        "apart_ratio": tensor.ratio,
        "apart_format": {"name": str(best), **_parameters(best.format), "values": list(best.format.values)},
        "link_s": plain,
        "compressed_link_s": compressed,
        "saved_s": plain - compressed,
        "worth": ours and ours.worth,
        "wait_s": ours and ours.plain,
        "compressed_wait_s": ours and ours.compressed,
        "cswap_worth": cswap and cswap.worth,
        "cswap_s": cswap and cswap.compressed,
        "units": transfer.units,
    }


def _parameters(format: Format) -> dict[str, Any]:
    """The parameters of a format but for its table."""
    return {name: value for name, value in format.settings().items() if name != "values"}


def _or_none(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None


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
