"""The cycles of a compressor by the depth of its queue: the bound of each depth, and what it costs on data."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma import CodecConfig, Format
from cdma.sim.codec.packing import packing_cycles, shared_cycles
from cdma.sim.support.tensors import LAYOUTS, arrange, convert
from cdma.verif.codec import stimulus
from tests.support.samples import load_samples

STANDARD = CodecConfig()
CONFIGS = [
    STANDARD,
    CodecConfig(Format(16, 32), 16),
    CodecConfig(Format(8, 32), 32),
    CodecConfig(Format(8, 64, 4, (0, 1)), 8),
    CodecConfig(Format(8, 64), 4),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.summary())
@given(seed=st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_bound_of_each_depth(config: CodecConfig, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (
        stimulus.periodic(rng, config, 8)
        if seed % 2
        else stimulus.mixed(rng, 20 * config.format.window, config)
    )
    windows = -(-len(shape) // config.format.window)
    least = shared_cycles(shape, config)
    without = packing_cycles(shape, replace(config, queue=0))
    assert without == packing_cycles(shape, replace(config, queue=1))
    assert without <= least + windows + 2
    if config.format.header_words == 1:
        assert without <= least + windows / 2 + 2
    # Two of the cycles are those of the queue itself.
    assert packing_cycles(shape, config) <= least + 4


def test_costly_windows_are_the_worst() -> None:
    """Around every circle of windows, the cycles are at most 9 for every 8.125 of the contract, and the circle is known."""
    lanes, beats = STANDARD.lanes, STANDARD.beats
    ratio = 9 / 8.125
    gains = np.full((lanes + 1, lanes + 1), -np.inf)
    for held, counts in itertools.product(
        range(lanes + 1), itertools.product(range(lanes + 1), repeat=beats)
    ):
        words, cycles = held + 1, 0
        for count in counts:
            words += count
            out = 1 if words == lanes else max(0, words - 1) // lanes
            words, cycles = words - out * lanes, cycles + max(1, out)
        gain = cycles - ratio * max(beats, (1 + sum(counts)) / lanes)
        gains[held, words] = max(gains[held, words], gain)
    # The best way from any level of the incomplete beat to any, by more and more windows.
    for through in range(lanes + 1):
        gains = np.maximum(gains, gains[:, [through]] + gains[[through], :])
    assert np.diag(gains).max() == pytest.approx(0)
    shape = np.tile(stimulus.costly(STANDARD), 500)
    cycles = packing_cycles(shape, replace(STANDARD, queue=0))
    assert cycles / shared_cycles(shape, STANDARD) == pytest.approx(ratio, abs=0.001)


@pytest.mark.parametrize("number_type", ["float32", "float16", "int8"])
def test_activations_reach_99_percent_without_a_queue(number_type: str) -> None:
    word_bits = convert(np.zeros((1, 1), np.float32), number_type).itemsize * 8
    config = CodecConfig(Format(word_bits), 256 // word_bits, queue=0)
    cycles = least = 0.0
    for tensor in load_samples().values():
        for layout in LAYOUTS:
            stored = arrange(convert(tensor, number_type), layout).ravel() != 0
            cycles += packing_cycles(stored, config)
            least += shared_cycles(stored, config)
    assert least / cycles >= 0.99
