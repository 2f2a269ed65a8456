"""The default period: from the delay of a gate that can be worked out by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cdma.base.json_cache import Cache
from cdma.synth.asic.library.gates import normalised_library
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.stage import DEFAULT_PERIOD_NS, STAGES, default_period, stage_delay
from cdma.synth.asic.timing import find_opensta


@pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA (sta) is not installed")
def test_the_stage_of_a_small_library(tiny: Library, tmp_path: Path) -> None:
    """A NAND2 of ``tiny.lib`` takes 0.02 ns and 0.002 ns for each of its two loads."""
    opensta = find_opensta()
    assert opensta is not None
    assert stage_delay(tiny, opensta, Cache(tmp_path)) == pytest.approx(0.02 + 2 * 0.002, abs=1e-5)
    period = default_period(tiny, opensta, Cache(tmp_path))
    assert period == pytest.approx(STAGES * 0.024, abs=0.05)


def test_without_delays_or_without_opensta(tiny: Library, tmp_path: Path) -> None:
    assert default_period(tiny, None, Cache(tmp_path)) == DEFAULT_PERIOD_NS
    assert default_period(normalised_library(), find_opensta(), Cache(tmp_path)) == DEFAULT_PERIOD_NS
