"""``cdma study model``: what compression buys a network on a machine, and the papers' figures."""

from .command import COMMAND

__all__ = ["COMMAND"]
