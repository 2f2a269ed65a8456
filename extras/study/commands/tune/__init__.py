"""``cdma study tune``: searches over the generator's parameters, and over how the compiled codec is called."""

from .command import COMMAND

__all__ = ["COMMAND"]
