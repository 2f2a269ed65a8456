"""The command of the driver for Linux, which :mod:`cdma.command` finds."""

COMMANDS = ("cdma_linux.command",)
