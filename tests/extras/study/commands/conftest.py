"""Tests of the study, which a change of the hardware need not run."""

from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("study")
