"""What compressing the tensors of a network by one engine buys on a link, for each tensor and for all together."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.format_fits import Fit
from cdma.sim.codec.tensor_profile import NothingToProfile, TensorProfile

from .link import Settings, Transfer, Verdict

__all__ = ["Report", "worth"]

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
