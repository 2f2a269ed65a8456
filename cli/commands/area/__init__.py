"""``cdma area``: area and clock on standard cells."""

from .command import register

__all__ = ["register"]
