"""How many cycles a plain compressor takes for a packet, with each depth of its queue of finished beats."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig

from .critical_cycle import Kinds, worst_circle

__all__ = ["packing_cycles", "shared_cycles", "worst_windows"]


@dataclass(frozen=True)
class _Step:
    """What a beat of raw words adds to the stream, or what a part of a long header adds."""

    words: int
    last: bool
    #: A word of the packet is known to follow. Parts of a header do not ask.
    more: bool


def packing_cycles(stored: NDArray[Any], config: CodecConfig) -> int:
    """The cycles from the first step of a packet to its last beat out, both counted.

    ``stored`` says for each raw word how many stream words are stored of it, or whether it is a literal. The source is
    always valid and the sink is always ready. The first step comes as soon as the first window has arrived; a packet that
    is not the first of its kind follows without a gap.
    """
    steps = _steps(stored, config)
    return _through_queue(steps, config) if config.work_conserving else _beat_by_beat(steps, config.units)


def shared_cycles(stored: NDArray[Any], config: CodecConfig) -> float:
    """What the contract of a work-conserving codec allows for a packet, without the constant and not rounded."""
    fmt = config.format
    loads = [
        max(len(window) * fmt.parts, _padded(fmt.header_words + int(window.sum()), config))
        for window in np.split(stored, range(fmt.window, len(stored), fmt.window))
    ]
    return sum(loads) / config.units + max(0, config.header_beats - 1) * len(loads)


def worst_windows(config: CodecConfig, repeats: int) -> NDArray[np.bool_]:
    """Windows that cost a compressor with less than two queued beats the most cycles for their words, over and over.

    Tries every number of literals in each beat of a window, so a window must have few beats of few words, and its header
    must fit a beat.
    """
    fmt, lanes, beats = config.format, config.lanes, config.beats
    #: For each fill of the incomplete beat before a window and after it: cycles, those of the contract, literals.
    windows: dict[tuple[int, int], Kinds] = {}
    for held, counts in itertools.product(
        range(lanes + 1), itertools.product(range(lanes + 1), repeat=beats)
    ):
        fill, cycles = held + fmt.header_words, 0
        for count in counts:
            fill += count
            out = _beats_out(fill, lanes, more=True)
            fill, cycles = fill - out * lanes, cycles + max(1, out)
        allowed = max(fmt.window, fmt.header_words + sum(counts)) / lanes
        windows.setdefault((held, fill), {}).setdefault((cycles, allowed), counts)
    circle = worst_circle(windows, lanes + 1) or {0: (0,) * beats}
    # A window before them brings the incomplete beat to where the circle can begin.
    fills, counts_of = list(circle), list(circle.values())
    first = next(index for index, held in enumerate(fills) if (0, held) in windows)
    lead = next(iter(windows[0, fills[first]].values()))
    circle_from = counts_of[first:] + counts_of[:first]
    return np.concatenate(
        [np.arange(lanes) < count for counts in [lead, *circle_from * repeats] for count in counts]
    )


def _steps(stored: NDArray[Any], config: CodecConfig) -> Iterator[_Step]:
    fmt, lanes = config.format, config.lanes
    beats = -(-len(stored) // lanes)
    padded = np.zeros(beats * lanes, np.intp)
    padded[: len(stored)] = stored
    counts = padded.reshape(beats, lanes).sum(axis=1).tolist()
    full_parts = max(0, config.header_beats - 1)
    rest = fmt.header_words - full_parts * config.units
    total = 0
    for beat, count in enumerate(counts):
        first = beat % config.beats == 0
        if first:
            for _ in range(full_parts):
                yield _Step(config.units, last=False, more=False)
        total = (0 if first else total) + count
        ends = beat == beats - 1 or (beat + 1) % config.beats == 0
        padding = _padded(fmt.header_words + total, config) - fmt.header_words - total if ends else 0
        more = (beat // config.beats + 1) * config.beats < beats
        yield _Step(count + rest * first + padding, beat == beats - 1, more)


def _padded(words: int, config: CodecConfig) -> int:
    """The stream words of a window with its padding."""
    return words + -words % config.format.align_words


def _beat_by_beat(steps: Iterator[_Step], units: int) -> int:
    """One beat leaves in a cycle at most: a step takes a cycle for each of its beats, and at least one."""
    held = cycles = 0
    for step in steps:
        held += step.words
        out = -(-held // units) if step.last else _beats_out(held, units, more=step.more)
        held -= out * units
        cycles += max(1, out)
    return cycles


def _beats_out(held: int, units: int, *, more: bool) -> int:
    """The beats that leave; one that is just full waits for the next word if it may be the last of its packet."""
    return 1 if more and held == units else max(0, held - 1) // units


def _through_queue(steps: Iterator[_Step], config: CodecConfig) -> int:
    """Two beats enter the queue in a cycle and one leaves it, a cycle later at the earliest."""
    units = config.units
    depth = 2 if min(config.format.header_words, units) == 1 else 3
    held = queued = cycles = 0
    for step in steps:
        held += step.words
        out = max(0, held - 1) // units
        rest = step.last and out == 2
        pushed = out + (step.last and not rest)
        while True:
            cycles += 1
            queued = max(0, queued - 1)
            if queued + pushed <= depth:
                queued += pushed
                break
        held -= out * units
        if rest:
            while True:
                cycles += 1
                queued = max(0, queued - 1)
                if queued + 1 <= depth:
                    queued += 1
                    break
    return cycles + queued
