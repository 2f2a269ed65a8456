"""The command of the driver for Linux, which :mod:`cdma.wings` finds."""

COMMANDS = ("cdma_linux.command",)
