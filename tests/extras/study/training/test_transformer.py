"""Training the small transformer; skipped where torch is not installed."""

import numpy as np
import pytest

from cdma import ParameterError
from cdma.study.compare.format_bench import load_data
from cdma.study.training.transformer import SAMPLE_WORDS, SAMPLES, train_transformer

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")


@pytest.mark.slow
@pytest.mark.thorough
def test_learns_and_gives_every_sample():
    said = []
    trained = train_transformer(epochs=1, progress=said.append)
    # Grey values by themselves have 3.0 bits; one epoch is enough to use what came before.
    assert trained.loss < 3.0
    assert list(trained.samples) == list(SAMPLES) == [data.name for data in load_data()[: len(SAMPLES)]]
    for name, sample in trained.samples.items():
        assert (sample.dtype, sample.shape) == (np.uint16, (SAMPLE_WORDS,)), name
        assert sample.any(), name
    # Half of the attention is to the future, which has none.
    assert np.mean(trained.samples["attention.softmax"] == 0) == pytest.approx(0.49, abs=0.01)
    assert said == sorted(said)
    assert said[-1] == 1


def test_refuses_no_training():
    with pytest.raises(ParameterError, match="epochs is 0; it must be a whole number, 1 or more"):
        train_transformer(epochs=0)
