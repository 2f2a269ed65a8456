"""The commands of the study, which :mod:`cdma.command` finds: all are ``cdma study …``."""

__all__ = ["COMMANDS"]

COMMANDS = ("cdma.study.commands.command",)
