"""Finds the headers of a stream, and counts the cycles of a plain decompressor.

Each header says how many words follow, and so where the next header is: a chain with one step per window. Many walkers
share a long stream; each starts at the beginning of its own segment. All but the first start at a word that most likely
is no header. Chains that meet stay together, though, and a walker meets the true chain soon. The result does not depend
on that: the true chain is followed from one segment into the next until it meets the walker of that segment, and
through the whole segment if it never does.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

from .fit import Kinds, worst_circle
from .headers import lengths_at
from .words import Words


@dataclass(frozen=True)
class _State:
    """Whether a beat is held, whether one is planned, and the word after it, counted from lane 0 of the oldest beat."""

    holds: bool = False
    planned: bool = False
    position: int = 0


@dataclass(frozen=True)
class _Cycle:
    """What a cycle does: the state after it; whether it takes a beat, delivers one, and reads or plans what it may."""

    state: _State
    takes: bool
    delivers: bool
    advances: bool


def _cycle(state: _State, units: int, waits: bool, header: int, literals: int | None) -> _Cycle:
    """One cycle, with a beat that ``waits`` at the input or none.

    It may read ``header`` words, and then plan a beat of so many ``literals``, unless that is None.
    """
    delivers = state.planned and -(-state.position // units) <= state.holds + waits
    if state.planned and not delivers:
        takes = waits and not state.holds
        return _Cycle(_State(state.holds or takes, True, state.position), takes, False, False)
    last_of_header = (state.position + header - 1) // units
    arrived = last_of_header < state.holds or (last_of_header == state.holds and waits)
    advances = not header or arrived
    passed, position = divmod(state.position + (header if advances else 0), units)
    takes = waits and (not state.holds or passed > 0)
    planned = advances and literals is not None
    after = _State(state.holds + takes > passed, planned, position + ((literals or 0) if planned else 0))
    return _Cycle(after, takes, delivers, advances)


def _works(literals: Sequence[int], config: CodecConfig) -> list[tuple[int, int | None]]:
    """The parts of headers and the beats to plan, in order, each as ``header`` and ``literals`` of :func:`_cycle`.

    ``literals`` has the stream words of each beat. What pads a window follows its last beat.
    """
    header, parts = config.format.header_words, config.header_reads
    works: list[tuple[int, int | None]] = []
    for first in range(0, len(literals), config.beats):
        window = list(literals[first : first + config.beats])
        window[-1] += -(header + sum(window)) % config.format.align_words
        works += [(header // parts, None)] * (parts - 1)
        works += [(0 if beat else header // parts, count) for beat, count in enumerate(window)]
    return works


def unpacking_cycles(stored: NDArray[Any], config: CodecConfig) -> int:
    """The cycles from the first beat of a packet in to its last beat out, both counted.

    ``stored`` says for each raw word how many stream words are stored of it, or whether it is a literal. The source is
    always valid and the sink is always ready.
    """
    lanes = config.lanes
    padded = np.zeros(-(-len(stored) // lanes) * lanes, np.intp)
    padded[: len(stored)] = stored
    works = _works(padded.reshape(-1, lanes).sum(axis=1).tolist(), config)
    #: Beats of the stream that are still at the input.
    waiting = -(-sum(header + (count or 0) for header, count in works) // config.units)
    state, cycles, done = _State(), 0, 0
    while True:
        header, count = works[done] if done < len(works) else (0, None)
        cycle = _cycle(state, config.units, waiting > 0, header, count)
        cycles += 1
        if done == len(works) and cycle.delivers:
            return cycles
        state, waiting = cycle.state, waiting - cycle.takes
        done += cycle.advances


def worst_streams(config: CodecConfig, repeats: int) -> NDArray[np.bool_]:
    """Windows that cost the most cycles for their words, over and over.

    Tries every number of literals in each beat of a window, so a window must have few beats of few words, and no padding.
    """
    fmt, lanes = config.format, config.lanes
    shapes = [
        (counts, _works(counts, config), max(fmt.window, fmt.header_words + sum(counts)) / lanes)
        for counts in itertools.product(range(lanes + 1), repeat=config.beats)
    ]
    #: The states before a window, each with its number and the windows that lead to it.
    states: dict[_State, tuple[int, list[tuple[int, ...]]]] = {_State(): (0, [])}
    windows: dict[tuple[int, int], Kinds] = {}
    new = deque(states)
    while new:
        before = new.popleft()
        number, lead = states[before]
        for counts, works, allowed in shapes:
            state, cycles, done = before, 0, 0
            while done < len(works):
                cycle = _cycle(state, lanes, True, *works[done])
                state, cycles, done = cycle.state, cycles + 1, done + cycle.advances
            if state not in states:
                states[state] = (len(states), [*lead, counts])
                new.append(state)
            windows.setdefault((number, states[state][0]), {}).setdefault((cycles, allowed), counts)
    circle = worst_circle(windows, len(states)) or {0: (lanes,) * config.beats}
    first = next(iter(circle))
    lead = next(lead for number, lead in states.values() if number == first)
    rest = list(circle.values()) * repeats
    return np.concatenate([np.arange(lanes) < count for counts in [*lead, *rest] for count in counts])


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
