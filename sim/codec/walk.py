"""Finds the headers of a stream.

Each header says how much follows it, and so where the next header is: a chain with one step per window. Many
walkers share a long stream; each starts at the beginning of its own segment. All but the first start at a word that
most likely is no header. Chains that meet stay together, though, and a walker meets the true chain soon. The result
does not depend on that: the true chain is followed from one segment into the next until it meets the walker of that
segment, and through the whole segment if it never does.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format

from .headers import lengths_at
from .words import Words

__all__ = ["find_headers"]

#: From this number of windows on, many walkers are faster than one.
_MANY_WINDOWS = 4096
#: Steps of the walkers between two checks of which have arrived.
_STRIDE = 32

_Positions = NDArray[np.intp]


def find_headers(stream: Words, windows: int, format: Format) -> tuple[_Positions, int]:
    """The positions of the headers of the first ``windows`` windows, and the end of the last one if it is whole.

    Fewer than ``windows`` if the next header does not fit the stream; the end may be past that of the stream.
    """
    lengths = lengths_at(stream, format)
    windows = min(windows, len(lengths))
    if windows == 0:
        return np.empty(0, np.intp), 0
    if windows < _MANY_WINDOWS:
        starts = _walk(lengths, windows)
    else:
        # More walkers take fewer steps together, but each has to be met by the chain: the root balances both.
        starts = _walk_together(lengths, 2 * isqrt(windows))
    starts = starts[:windows]
    return starts, int(starts[-1]) + int(lengths[starts[-1]])


def _walk(lengths: NDArray[Any], windows: int) -> _Positions:
    """One walker, one step per window."""
    steps, length = lengths.data, len(lengths)
    positions = np.empty(windows, np.intp)
    put, count, position = positions.data, 0, 0
    while position < length and count < windows:
        put[count] = position
        position += steps[position]
        count += 1
    return positions[:count]


def _walk_together(lengths: NDArray[Any], walkers: int) -> _Positions:
    """Many walkers, all of the chain."""
    length = len(lengths)
    bounds = np.linspace(0, length, walkers + 1).astype(np.intp)
    begins, ends = bounds[:-1], bounds[1:]
    seen = np.zeros(length, bool)
    exits = np.empty(walkers, np.intp)
    walking, at = np.arange(walkers), begins
    while len(walking):
        path = _steps(lengths, at)
        inside = path < ends[walking]
        seen[path[inside]] = True
        arrived = ~inside[-1]
        # A path only grows, so the first position outside comes after all those inside.
        first_outside = np.count_nonzero(inside[:, arrived], axis=0)
        exits[walking[arrived]] = path[first_outside, np.flatnonzero(arrived)]
        walking, at = walking[~arrived], path[-1, ~arrived]

    is_seen, steps = seen.data, lengths.data
    detours = []
    position = 0
    for begin, end, leave in zip(begins.tolist(), ends.tolist(), exits.tolist(), strict=True):
        while position < end and not is_seen[position]:
            detours.append(position)
            position += steps[position]
        seen[begin : min(position, end)] = False
        if position < end:
            position = leave
    seen[detours] = True
    return np.flatnonzero(seen)


def _steps(lengths: NDArray[Any], at: _Positions) -> NDArray[Any]:
    """The positions ``at`` and those after each of the next steps, one row per step."""
    path = np.empty((_STRIDE, len(at)), np.intp)
    path[0] = at
    step = np.empty(len(at), lengths.dtype)
    for index in range(1, _STRIDE):
        # Whoever is past the end walks on from the last position, which leads past the end again.
        np.take(lengths, path[index - 1], out=step, mode="clip")
        np.add(path[index - 1], step, out=path[index])
    return path
