"""The cycles of a decompressor that stores one beat: its bound, and what it costs on data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma import CodecConfig, Format
from cdma.sim.codec.number_types import LAYOUTS, arrange, convert
from cdma.sim.codec.packing import shared_cycles
from cdma.sim.codec.unpacking import unpacking_cycles, worst_streams
from tests.support.packet_shapes import packet_shape
from tests.support.samples import load_samples

STANDARD = CodecConfig(queue=0)
CONFIGS = [
    STANDARD,
    CodecConfig(Format(16, 32), 16, queue=0),
    CodecConfig(Format(8, 32), 32, queue=0),
    CodecConfig(Format(8, 64, 4, (0, 1)), 8, queue=0),
    CodecConfig(Format(8, 64), 4, queue=0),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.summary())
@given(seed=st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_a_window_costs_at_most_a_cycle_more(config: CodecConfig, seed: int) -> None:
    shape = packet_shape(np.random.default_rng(seed), config, periodic=bool(seed % 2))
    windows = -(-len(shape) // config.format.window)
    assert unpacking_cycles(shape, config) <= shared_cycles(shape, config) + windows + 2


def test_no_windows_are_worse() -> None:
    """9 cycles where the contract has 8.125."""
    worst = worst_streams(STANDARD, 200)
    assert unpacking_cycles(worst, STANDARD) / shared_cycles(worst, STANDARD) == pytest.approx(
        9 / 8.125, abs=0.005
    )
    lane, dense = np.arange(STANDARD.lanes), np.ones(STANDARD.format.window, bool)
    for counts in itertools.product((0, 1, 6, 7, 8), repeat=STANDARD.beats):
        window = np.concatenate([lane < count for count in counts])
        for second in (dense, window[::-1]):
            pairs = np.tile(np.concatenate([window, second]), 16)
            assert unpacking_cycles(pairs, STANDARD) <= 9 / 8.125 * shared_cycles(pairs, STANDARD) + 2


@pytest.mark.parametrize("number_type", ["float32", "float16", "int8"])
def test_activations_reach_99_percent_with_one_stored_beat(number_type: str) -> None:
    word_bits = convert(np.zeros((1, 1), np.float32), number_type).itemsize * 8
    config = CodecConfig(Format(word_bits), 256 // word_bits, queue=0)
    cycles = least = 0.0
    for tensor in load_samples().values():
        for layout in LAYOUTS:
            stored = arrange(convert(tensor, number_type), layout).ravel() != 0
            cycles += unpacking_cycles(stored, config)
            least += shared_cycles(stored, config)
    assert least / cycles >= 0.99
