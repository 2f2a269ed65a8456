"""Plots of sweeps, and the fit that one of them shows."""

import pytest

from cdma.base.errors import ToolError
from cdma.synth.asic.sweep.plots import fit_lanes, plot_sweep
from cdma.synth.asic.sweep.sweep import Sweep


def test_fit():
    lanes = (2, 4, 8, 16)
    exact = [3 + 0.5 * n * k for n, k in zip(lanes, (1, 2, 3, 4), strict=True)]
    fit = fit_lanes(lanes, exact)
    assert (fit.constant, fit.slope) == pytest.approx((3, 0.5))
    assert fit.worst == pytest.approx(0, abs=1e-9)
    assert fit_lanes(lanes, [*exact[:3], 2 * exact[3]]).worst > 0.1


def test_plots_need_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(
        ToolError, match=r"^matplotlib is not installed; it comes with: pip install '.*\[plot\]'$"
    ):
        plot_sweep(Sweep("compressor", "tiny", {"lanes": (1, 2)}, ()), tmp_path)
