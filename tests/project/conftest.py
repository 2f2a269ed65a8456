"""The wheel, built once for all tests of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.wheel import built_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, beside the folder ``source`` that it was built in."""
    return built_wheel(tmp_path_factory.mktemp("wheel"))
