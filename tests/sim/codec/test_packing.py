"""The cycles of a compressor by the depth of its queue: the bound of each depth, and what it costs on data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma import CodecConfig, Format
from cdma.sim.codec.number_types import LAYOUTS, arrange, convert
from cdma.sim.codec.packing import packing_cycles, shared_cycles, worst_windows
from cdma.verif.stream.codec import stimulus
from tests.support.packet_shapes import packet_shape
from tests.support.samples import load_samples

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
@settings(max_examples=100, deadline=None)
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
