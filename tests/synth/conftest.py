"""What tests of synthesis share: a small cell library."""

from __future__ import annotations

import pytest

from cdma.synth.asic.library.library import Library
from tests.support.verilog_designs import tiny_library


@pytest.fixture(scope="session")
def tiny() -> Library:
    """The library of ``tiny.lib``."""
    return tiny_library()
