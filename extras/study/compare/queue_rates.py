"""What ``queue`` costs on data: recorded activations, random words, and the worst windows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.headers import packing_cycles, shared_cycles, worst_windows
from cdma.sim.codec.number_types import LAYOUTS, arrange, convert
from cdma.sim.codec.unpacking import unpacking_cycles, worst_streams
from cdma.study.recorded import recorded_samples

#: The number types of the activations, by the bits of a word.
NUMBER_TYPES = {32: ("float32",), 16: ("float16", "bfloat16"), 8: ("int8",)}
#: The densities of the random words.
DENSITIES = (0.5, 0.9, 0.95, 0.99)
_WORDS = 1 << 16

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class QueueRates:
    """Shares of the throughput of the contract, from 0 to 1, for one compressor or decompressor.

    ``activations``: Of all recorded tensors in all layouts together.
    ``least``: Of the tensor and layout that suffers most.
    ``random``: Of random words, for each of :data:`DENSITIES`.
    ``worst``: Of the windows that are worst for the block with less than two queued beats.
    """

    activations: float
    least: float
    random: dict[float, float]
    worst: float


def queue_rates(block: str, config: CodecConfig, seed: int = 1) -> QueueRates:
    """What a plain ``compressor`` or ``decompressor`` of zeros makes of the data."""
    rng = np.random.default_rng(seed)
    zeros = replace(config, format=Format(config.format.word_bits, config.format.window))
    repeats = _WORDS // config.format.window
    worst = worst_windows(zeros, repeats) if block == "compressor" else worst_streams(zeros, repeats)
    tensors = [_cycles(block, [stored], zeros) for stored in _activations(config.format.word_bits)]
    return QueueRates(
        activations=_share(sum(least for least, _ in tensors), sum(taken for _, taken in tensors)),
        least=min(_share(*cycles) for cycles in tensors),
        random={
            density: _share(*_cycles(block, [rng.random(_WORDS) < density], zeros)) for density in DENSITIES
        },
        worst=_share(*_cycles(block, [worst], zeros)),
    )


def _activations(word_bits: int) -> Iterable[Mask]:
    """Which words of the recorded tensors are literals, in every number type of this width and in every layout."""
    for number_type in NUMBER_TYPES[word_bits]:
        for tensor in recorded_samples().values():
            for layout in LAYOUTS:
                # A literal is a word with any bit set; a negative zero is one.
                numbers = arrange(convert(tensor, number_type), layout).ravel()
                yield numbers.view(f"u{numbers.itemsize}") != 0


def _cycles(block: str, packets: Iterable[Mask], config: CodecConfig) -> tuple[int, int]:
    """The cycles of the contract and those that the packets take, both without the stages from input to output."""
    least = taken = 0
    for stored in packets:
        allowed = math.ceil(shared_cycles(stored, config))
        least += allowed
        if block == "compressor":
            taken += packing_cycles(stored, config) - config.work_conserving
        else:
            # One that is work-conserving counts as the sum over its windows, though a dense one may take whole beats.
            taken += allowed if config.work_conserving else unpacking_cycles(stored, config) - 1
    return least, taken


def _share(least: int, taken: int) -> float:
    return min(1.0, least / taken)
