"""The model of the engine at its registers."""

from __future__ import annotations

import pytest

from cdma.sim.engine.memory import BusError
from tests.support.model_bench import (
    CONFIGS,
    ModelBench,
)


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def bench(request) -> ModelBench:
    return ModelBench(request.param)


def test_the_model_answers_slverr_where_no_register_is(bench):
    with pytest.raises(BusError, match="SLVERR at 0x800"):
        bench.model.read32(0x800)
    with pytest.raises(BusError, match="SLVERR at 0x800"):
        bench.model.write32(0x800, 1)
