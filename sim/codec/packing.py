"""How many cycles a plain compressor takes for a packet, with each depth of its queue of finished beats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig

__all__ = ["packing_cycles", "shared_cycles"]


@dataclass(frozen=True)
class _Step:
    """What a beat of raw words adds to the stream, or what a part of a long header adds."""

    words: int
    last: bool
    #: A word of the packet is known to follow. Parts of a header do not ask.
    more: bool


def packing_cycles(stored: NDArray[np.bool_], config: CodecConfig) -> int:
    """The cycles from the first step of a packet to its last beat out, both counted.

    ``stored`` says for each raw word whether it is a literal. The source is always valid and the sink is always ready.
    The first step comes as soon as the first window has arrived; a packet that is not the first of its kind follows
    without a gap.
    """
    steps = _steps(stored, config)
    return _through_queue(steps, config) if config.work_conserving else _beat_by_beat(steps, config.lanes)


def shared_cycles(stored: NDArray[np.bool_], config: CodecConfig) -> float:
    """What the contract of a work-conserving codec allows for a packet, without the constant and not rounded."""
    fmt, lanes = config.format, config.lanes
    loads = [
        max(len(window), fmt.header_words + int(window.sum()))
        for window in np.split(stored, range(fmt.window, len(stored), fmt.window))
    ]
    long_header = max(0, -(-fmt.header_words // lanes) - 1)
    return sum(loads) / lanes + long_header * len(loads)


def _steps(stored: NDArray[np.bool_], config: CodecConfig) -> Iterator[_Step]:
    fmt, lanes = config.format, config.lanes
    beats = -(-len(stored) // lanes)
    padded = np.zeros(beats * lanes, bool)
    padded[: len(stored)] = stored
    literals = padded.reshape(beats, lanes).sum(axis=1).tolist()
    part = min(fmt.header_words, lanes)
    for beat, count in enumerate(literals):
        first = beat % config.beats == 0
        if first:
            for _ in range(fmt.header_words // part - 1):
                yield _Step(part, last=False, more=False)
        more = (beat // config.beats + 1) * config.beats < beats
        yield _Step(count + part * first, beat == beats - 1, more)


def _beat_by_beat(steps: Iterator[_Step], lanes: int) -> int:
    """One beat leaves in a cycle at most: a step takes a cycle for each of its beats, and at least one."""
    held = cycles = 0
    for step in steps:
        held += step.words
        if step.last:
            out = -(-held // lanes)
        else:
            # A full beat waits for the next word if it may be the last of its packet.
            out = held // lanes if step.more and held == lanes else max(0, held - 1) // lanes
        held -= out * lanes
        cycles += max(1, out)
    return cycles


def _through_queue(steps: Iterator[_Step], config: CodecConfig) -> int:
    """Two beats enter the queue in a cycle and one leaves it, a cycle later at the earliest."""
    lanes = config.lanes
    depth = 2 if min(config.format.header_words, lanes) == 1 else 3
    held = queued = cycles = 0
    for step in steps:
        held += step.words
        out = max(0, held - 1) // lanes
        rest = step.last and out == 2
        pushed = out + (step.last and not rest)
        while True:
            cycles += 1
            queued = max(0, queued - 1)
            if queued + pushed <= depth:
                queued += pushed
                break
        held -= out * lanes
        if rest:
            while True:
                cycles += 1
                queued = max(0, queued - 1)
                if queued + 1 <= depth:
                    queued += 1
                    break
    return cycles + queued
