"""What a block takes for a byte beside what a link would take for the bytes that it saves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

__all__ = ["crossover", "saved_pj"]


def saved_pj(raw_bytes: int, compressed_bytes: int, link_pj_per_bit: float) -> float:
    """What a link saves for each byte of raw data; less than nothing where the compressed data are longer."""
    return 8 * link_pj_per_bit * (1 - compressed_bytes / raw_bytes)


def crossover(points: Sequence[tuple[float, float]]) -> float | None:
    """The density up to which something is gained, from gains at densities, in a straight line between them.

    None where nothing is gained at the lowest density; the highest one where something is gained at each.
    """
    ordered = sorted(points)
    if not ordered or ordered[0][1] <= 0:
        return None
    for (density, gain), (next_density, next_gain) in itertools.pairwise(ordered):
        if next_gain <= 0:
            return density + (next_density - density) * gain / (gain - next_gain)
    return ordered[-1][0]
