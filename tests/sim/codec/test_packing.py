"""The cycles of a compressor by the depth of its queue, and of a decompressor that stores one beat: bounds, and data."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma import CodecConfig, Format
from cdma.sim.codec.headers import packing_cycles, shared_cycles, worst_windows
from cdma.sim.codec.number_types import LAYOUTS, arrange, convert
from cdma.sim.codec.unpacking import unpacking_cycles, worst_streams
from cdma.verif.stream.codec import stimulus
from tests.support.stimuli import load_samples, packet_shape

STANDARD = CodecConfig()
CONFIGS = [
    STANDARD,
    CodecConfig(Format(16, 32), 16),
    CodecConfig(Format(8, 32), 32),
    CodecConfig(Format(8, 64, 4, (0, 1)), 8),
    CodecConfig(Format(8, 64), 4),
    CodecConfig(Format.preset("bf16"), 16),
    CodecConfig(Format.preset("fp32"), 2),
    CodecConfig(Format(32, 32, 3), 2),
    CodecConfig(Format.preset("aie-ml"), 8),
    CodecConfig(Format(16, 64, align=8), 4),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.summary())
@given(seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_bound_of_each_depth(config: CodecConfig, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = packet_shape(rng, config, periodic=bool(seed % 2))
    windows = -(-len(shape) // config.format.window)
    if config.format.field_bits:
        # Any of the other words may have a frequent field, in turn or at random.
        frequent = (
            rng.random(len(shape)) < rng.choice([0.0, 0.3, 1.0])
            if seed % 3
            else np.arange(len(shape)) % 3 == 0
        )
        outside = config.format.parts - config.format.field_bits // 8
        shape = np.where(shape, config.format.parts, np.where(frequent, outside, 0))
    least = shared_cycles(shape, config)
    without = packing_cycles(shape, replace(config, queue=0))
    assert without == packing_cycles(shape, replace(config, queue=1))
    assert without <= least + windows + 2
    if config.format.header_words == 1:
        assert without <= least + windows / 2 + 2
    # Two of the cycles are those of the queue itself.
    assert packing_cycles(shape, config) <= least + 4


def test_costly_windows_are_the_worst() -> None:
    """Of all windows none costs more than those that the bench sends: 9 cycles where the contract has 8.125."""
    without = replace(STANDARD, queue=0)
    for shape in (worst_windows(STANDARD, 500), np.tile(stimulus.costly(STANDARD), 500)):
        assert packing_cycles(shape, without) / shared_cycles(shape, STANDARD) == pytest.approx(
            9 / 8.125, abs=0.001
        )


@pytest.mark.parametrize("config", CONFIGS[:5], ids=lambda config: config.summary())
@given(seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_a_window_costs_at_most_a_cycle_more(config: CodecConfig, seed: int) -> None:
    shape = packet_shape(np.random.default_rng(seed), config, periodic=bool(seed % 2))
    windows = -(-len(shape) // config.format.window)
    config = replace(config, queue=0)
    assert unpacking_cycles(shape, config) <= shared_cycles(shape, config) + windows + 2


@pytest.mark.slow
def test_no_windows_cost_a_decompressor_more() -> None:
    """9 cycles where the contract has 8.125."""
    config = replace(STANDARD, queue=0)
    worst = worst_streams(config, 200)
    assert unpacking_cycles(worst, config) / shared_cycles(worst, config) == pytest.approx(
        9 / 8.125, abs=0.005
    )
    lane, dense = np.arange(config.lanes), np.ones(config.format.window, bool)
    # Beats with a word, all words and all but one.
    for counts in itertools.product((1, 7, 8), repeat=config.beats):
        window = np.concatenate([lane < count for count in counts])
        for second in (dense, window[::-1]):
            pairs = np.tile(np.concatenate([window, second]), 16)
            assert unpacking_cycles(pairs, config) <= 9 / 8.125 * shared_cycles(pairs, config) + 2


@pytest.mark.parametrize("number_type", ["float32", "float16", "int8"])
def test_activations_reach_99_percent_without_a_queue_and_with_one_stored_beat(number_type: str) -> None:
    word_bits = convert(np.zeros((1, 1), np.float32), number_type).itemsize * 8
    config = CodecConfig(Format(word_bits), 256 // word_bits, queue=0)
    packing = unpacking = least = 0.0
    for tensor in load_samples().values():
        for layout in LAYOUTS:
            stored = arrange(convert(tensor, number_type), layout).ravel() != 0
            packing += packing_cycles(stored, config)
            unpacking += unpacking_cycles(stored, config)
            least += shared_cycles(stored, config)
    assert least / packing >= 0.99
    assert least / unpacking >= 0.99
