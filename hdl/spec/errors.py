"""The errors that a user can cause. They have one base, so that a front end can tell them from bugs."""

__all__ = ["CdmaError", "ParameterError"]


class CdmaError(Exception):
    """An input of the user's is invalid; the message says what was given, what is allowed and why."""


class ParameterError(CdmaError, ValueError):
    """A parameter, or a combination of parameters, outside what the format or the hardware allows."""
