"""Words for packets. Where the literals lie is what the datapath feels: every shape is a mask of literals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig

__all__ = [
    "adversarial",
    "alternating",
    "boundary_lengths",
    "clustered",
    "costly",
    "endings",
    "mixed",
    "periodic",
    "scattered",
    "short_of_dense",
    "some_length",
]

Mask = NDArray[np.bool_]
Random = np.random.Generator


def scattered(rng: Random, count: int, density: float) -> Mask:
    """Literals anywhere, ``density`` of all words."""
    return rng.random(count) < density


def clustered(rng: Random, count: int, density: float) -> Mask:
    """Literals in runs, as activations have them: long runs of each kind, ``density`` of all words."""
    mean = 2 ** rng.uniform(1, 6)
    runs: list[Mask] = []
    have = 0
    while have < count:
        for value, share in ((True, density), (False, 1 - density)):
            length = int(rng.exponential(mean * 2 * share) + rng.random())
            runs.append(np.full(length, value))
            have += length
    return np.concatenate(runs)[:count] if runs else np.zeros(count, bool)


def alternating(rng: Random, count: int, config: CodecConfig) -> Mask:
    """Windows that are all literals and windows that have none, in turn, in runs of one to three."""
    window = config.format.window
    run = int(rng.integers(1, 4))
    dense = (np.arange(count) // (window * run) + rng.integers(0, 2)) % 2 == 0
    return dense ^ (rng.random(count) < rng.choice([0.0, 0.03]))


def _beat(rng: Random, lanes: int, literals: int) -> Mask:
    mask = np.zeros(lanes, bool)
    mask[rng.permutation(lanes)[:literals]] = True
    return mask


def periodic(rng: Random, config: CodecConfig, repeats: int) -> Mask:
    """A few windows with a chosen number of literals in every beat, over and over.

    A datapath that loses a cycle on such a period loses it again every time round: the loss adds up until the
    bound is passed. Random search over periods is what finds a queue that is one row too short.
    """
    lanes, beats = config.lanes, config.beats
    shapes = []
    for _ in range(int(rng.integers(1, 5))):
        match rng.integers(0, 6):
            case 0:
                counts = np.full(beats, lanes)
            case 1:
                counts = np.zeros(beats, int)
            case 2:
                counts = np.where(np.arange(beats) < rng.integers(0, beats + 1), lanes, 0)
            case 3:
                counts = np.where(np.arange(beats) >= rng.integers(0, beats + 1), lanes, 0)
            case 4:
                counts = np.zeros(beats, int)
                counts[rng.integers(0, beats)] = rng.integers(0, lanes + 1)
            case _:
                counts = rng.choice([0, 1, lanes - 1, lanes, lanes // 2], beats)
        shapes.append(counts)
    period = np.concatenate([_beat(rng, lanes, int(count)) for counts in shapes for count in counts])
    return np.tile(period, repeats)


def adversarial(config: CodecConfig, repeats: int) -> Iterator[Mask]:
    """Periods that bring the fill of the compressor's last beat back to the same level before a dense window.

    A lead-in window sets the level, to each of the telling ones; then come, over and over, a dense window,
    one in which only one beat is dense, and one with as many literals as make the period whole beats.
    """
    form, lanes, beats = config.format, config.lanes, config.beats
    window, header = form.window, form.header_words
    dense = np.ones(window, bool)
    filler_words = -(header + window + header + lanes + header) % lanes
    for level in sorted({0, 1, lanes // 2, lanes - 1}):
        lead = np.arange(window) < (level - header) % lanes
        for beat in sorted({0, beats - 1}):
            one = np.zeros(window, bool)
            one[beat * lanes : (beat + 1) * lanes] = True
            for filler in (np.arange(window) < filler_words, np.arange(window) >= window - filler_words):
                yield np.concatenate([lead, np.tile(np.concatenate([dense, one, filler]), repeats)])


def short_of_dense(config: CodecConfig, repeats: int) -> Iterator[Mask]:
    """Periods of one or two windows that lack a few literals in their inner beats, and a dense one.

    A decompressor that stores a beat only where a whole row is free takes none while few words are left of the oldest
    beat, and so may lack a beat when the dense window begins.
    """
    form, lanes, beats = config.format, config.lanes, config.beats
    inner = range(1, beats - 1) if beats > 2 else range(beats)
    for missing in range(form.header_words, form.header_words + 4):
        if missing > len(inner) * lanes:
            break
        mask = np.ones(form.window, bool)
        for number in range(missing):
            mask[inner[number % len(inner)] * lanes + number // len(inner)] = False
        for windows in (1, 2):
            yield np.tile(np.concatenate([*[mask] * windows, np.ones(form.window, bool)]), repeats)
        yield np.tile(mask, 2 * repeats)


def endings(config: CodecConfig) -> Iterator[Mask]:
    """Packets that end in every way: with each fill of the last beat before a dense last window of each short length.

    Of many lanes, only the telling fills and lengths.
    """
    form, lanes = config.format, config.lanes
    fills = range(lanes) if lanes <= 8 else (0, 1, 2, lanes // 2, lanes - 2, lanes - 1)
    near = {beats * lanes + more for beats in (0, 1, 2) for more in (-1, 0, 1)}
    lengths = range(1, 2 * lanes + 2) if lanes <= 8 else sorted(near)
    for fill in fills:
        lead = np.arange(form.window) < (fill - form.header_words) % lanes
        for length in lengths:
            if 0 < length <= form.window:
                yield np.concatenate([lead, np.ones(length, bool)])


def costly(config: CodecConfig) -> Mask:
    """Two windows that a compressor with less than two queued beats takes the most cycles for, in relation to their words.

    The first begins with a dense beat when the incomplete beat is full, which fills two beats at once. It leaves that beat
    one word short, and the second, dense one fills it again.
    """
    form, lanes = config.format, config.lanes
    window = np.arange(form.window)
    short = (-1 - form.header_words) % lanes
    return np.concatenate([(window < lanes) | (window >= form.window - short), window >= 0])


def mixed(rng: Random, count: int, config: CodecConfig) -> Mask:
    """Any of the shapes, with any density."""
    density = float(rng.choice([0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0, rng.random()]))
    match rng.integers(0, 4):
        case 0:
            return clustered(rng, count, density)
        case 1:
            return alternating(rng, count, config)
        case 2:
            period = periodic(rng, config, 1)
            return np.resize(np.roll(period, rng.integers(0, len(period))), count)
        case _:
            return scattered(rng, count, density)


def boundary_lengths(config: CodecConfig) -> list[int]:
    """Every length next to a boundary: one word, lanes, whole windows, one less and one more."""
    lanes, window = config.lanes, config.format.window
    marks = {lanes, 2 * lanes, window - lanes, window, window + lanes, 2 * window, 3 * window}
    near = {mark + offset for mark in marks for offset in (-1, 0, 1)}
    return sorted(length for length in near | {1, 2, 3} if length > 0)


def some_length(rng: Random, config: CodecConfig) -> int:
    """A length as tests want them: often short, often next to a boundary, now and then several windows."""
    window = config.format.window
    match rng.integers(0, 8):
        case 0 | 1 | 2:
            return int(rng.integers(1, config.lanes + 2))
        case 3 | 4:
            return int(rng.choice(boundary_lengths(config)))
        case 5 | 6:
            return int(rng.integers(1, 2 * window))
        case _:
            return int(rng.integers(1, 5 * window))
