"""The tensor that software outside of a simulation moves."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.codec.model import decompress_words
from cdma.sim.codec.words import word_dtype
from cdma.verif.engine.design import SMALL
from cdma.verif.engine.measure import sparse_tensor


@pytest.mark.parametrize("config", [SMALL, EngineConfig()], ids=["small", "default"])
def test_the_stream_is_that_of_the_tensor_in_mode_zvc(config: EngineConfig) -> None:
    form = config.codec.format
    tensor, stream = (np.frombuffer(made, word_dtype(form)) for made in sparse_tensor(config))
    assert 0.5 < np.mean(tensor == 0) < 0.9
    assert stream.nbytes < tensor.nbytes
    assert np.array_equal(decompress_words(stream, tensor.size, form), tensor)
