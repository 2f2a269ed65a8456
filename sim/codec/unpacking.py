"""How many cycles a plain decompressor that stores one beat takes for a packet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig

from .packing import shared_cycles

__all__ = ["unpacking_cycles", "worst_pair"]


def unpacking_cycles(stored: NDArray[Any], config: CodecConfig) -> int:
    """The cycles from the first beat of a packet in to its last beat out, both counted.

    ``stored`` says for each raw word how many stream words are stored of it, or whether it is a literal. The source is
    always valid and the sink is always ready.
    """
    lanes, units, header = config.lanes, config.units, config.format.header_words
    parts = config.header_reads
    part = header // parts
    padded = np.zeros(-(-len(stored) // lanes) * lanes, np.intp)
    padded[: len(stored)] = stored
    counts = padded.reshape(-1, lanes).sum(axis=1).tolist()
    # What pads a window follows its last beat.
    for first in range(0, len(counts), config.beats):
        last = min(first + config.beats, len(counts)) - 1
        counts[last] += -(header + sum(counts[first : last + 1])) % config.format.align_words
    headers = -(-len(counts) // config.beats)
    #: Beats of the stream that are still at the input, and whether one is held.
    waiting = -(-(headers * header + sum(counts)) // units)
    holds = False
    #: The word after the planned beat, counted from lane 0 of the oldest beat that is left; beats and parts planned.
    position = beat = parts_read = cycles = 0
    planned = False
    while True:
        cycles += 1
        goes = planned and -(-position // units) <= holds + (waiting > 0)
        if goes and beat == len(counts):
            return cycles
        moves = goes or not planned
        wants = beat % config.beats == 0
        last_of_header = (position + part - 1) // units
        reads = wants and (last_of_header < holds or (last_of_header == holds and waiting > 0))
        takes = False
        if moves:
            target = position + (part if reads else 0)
            passed, position = divmod(target, units)
            takes = waiting > 0 and (not holds or passed > 0)
            holds = (holds + takes - passed) > 0
            parts_read += reads
            planned = not wants or parts_read == parts
            if planned:
                position += counts[beat]
                beat, parts_read = beat + 1, 0
        elif not holds:
            takes = holds = waiting > 0
        waiting -= takes


def worst_pair(config: CodecConfig, repeats: int) -> NDArray[np.bool_]:
    """Pairs of windows that cost the most cycles for their words, over and over.

    The second window is all literals, and the first one ends with literals. Where its last beat of them and the next header
    empty the held beat and the one at the input, the beat of literals before the header after that is at the input alone,
    and the header has not arrived in time.
    """
    window = np.arange(config.format.window)

    def pairs(literals: int, number: int) -> NDArray[np.bool_]:
        return np.tile(np.concatenate([window >= config.format.window - literals, window >= 0]), number)

    def ratio(literals: int) -> float:
        shape = pairs(literals, 16)
        return unpacking_cycles(shape, config) / shared_cycles(shape, config)

    return pairs(max(range(config.format.window + 1), key=ratio), repeats)
