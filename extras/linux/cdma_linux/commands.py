"""The command of the driver for Linux, which :mod:`cdma.wings` finds."""

__all__ = ["COMMANDS"]

COMMANDS = ("cdma_linux.command",)
