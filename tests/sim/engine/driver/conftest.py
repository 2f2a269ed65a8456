"""Benches of the drivers on the engine's model."""

from __future__ import annotations

import pytest

from tests.support.stream_bench import CONFIGS, ModelBench


@pytest.fixture(params=["python", "c"])
def driver(request: pytest.FixtureRequest) -> str:
    """Both drivers, which do the same."""
    return request.param


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def bench(request: pytest.FixtureRequest, driver: str) -> ModelBench:
    return ModelBench(request.param, driver)
