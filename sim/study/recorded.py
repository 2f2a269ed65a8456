"""Where the package has its recorded figures and descriptions."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DATA"]

#: The folder ``sim/study/data`` of the repository.
DATA = Path(__file__).parent / "data"
