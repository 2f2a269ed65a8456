"""What stands for a result that was lost."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Lost"]


@dataclass(frozen=True)
class Lost:
    """Stands for a result that was lost; ``reason`` is one line."""

    reason: str
