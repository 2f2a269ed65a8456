"""``cdma bench``: measurements, each a command of its own."""

from .command import register

__all__ = ["register"]
