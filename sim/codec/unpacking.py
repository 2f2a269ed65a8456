"""How many cycles a plain decompressor that stores one beat takes for a packet."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig

from .critical_cycle import Kinds, worst_circle

__all__ = ["unpacking_cycles", "worst_streams"]


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
    there = last_of_header < state.holds or (last_of_header == state.holds and waits)
    advances = not header or there
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
