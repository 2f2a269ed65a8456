"""The time of a transfer through the parts of the machine that it passes, all at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from .roofline import Cost
from .step import Transfer

__all__ = ["PARTS", "passage", "without"]

#: What a transfer passes, from the host on.
PARTS = ("link", "host port", "crossbar", "codec units", "device memory")


def passage(limits: Mapping[str, float], start: float, dram_bytes: float, link_bytes: float) -> Cost:
    """Returns the cost of a transfer that keeps each part of the machine busy for so many seconds, after its ``start``."""
    assert set(limits) <= set(PARTS), limits
    return Cost(max(limits.values()) + start, dram_bytes, link_bytes, limits)


def without(transfer: Transfer, parts: Collection[str]) -> Transfer:
    """Returns the transfer on a machine where these parts take no time."""

    def relieved(cost: Cost) -> Cost:
        if not cost.limits:
            return cost
        start = cost.seconds - max(cost.limits.values())
        limits = {part: 0.0 if part in parts else seconds for part, seconds in cost.limits.items()}
        link_bytes = 0.0 if "link" in parts else cost.link_bytes
        return replace(cost, seconds=max(limits.values()) + start, limits=limits, link_bytes=link_bytes)

    return replace(transfer, offload=relieved(transfer.offload), prefetch=relieved(transfer.prefetch))
