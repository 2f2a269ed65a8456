"""Tests that need Icarus Verilog."""

from __future__ import annotations

import shutil

import pytest

__all__ = ["needs_icarus"]

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None or shutil.which("vvp") is None,
    reason="Icarus Verilog (iverilog and vvp) is not on PATH; on Debian or Ubuntu: apt install iverilog",
)
