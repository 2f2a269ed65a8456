"""``cdma study tune``: searches over the generator's parameters, and over how kernels are launched on a GPU."""

from .command import COMMAND

__all__ = ["COMMAND"]
