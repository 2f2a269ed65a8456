"""The images that networks are trained on; skipped where scikit-learn is not installed."""

import pytest

from cdma.sim.study.training.digits import digits

pytest.importorskip("sklearn")


def test_digits():
    images, classes = digits()
    assert images.shape == (1797, 1, 32, 32)
    assert images[:1500].mean() == pytest.approx(0, abs=1e-5)
    assert images[:1500].std() == pytest.approx(1, abs=1e-5)
    assert set(classes.tolist()) == set(range(10))
