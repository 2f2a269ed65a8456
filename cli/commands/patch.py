"""``cdma patch``: see ``cdma delta``."""

from .delta import PATCH as COMMAND

__all__ = ["COMMAND"]
