"""Where the recorded figures and descriptions lie that come with the package."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DATA"]

#: The folder ``sim/data`` of the repository.
DATA = Path(__file__).parents[1] / "data"
