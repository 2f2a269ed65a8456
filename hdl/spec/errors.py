"""The errors a user can cause, under one base so that a front end can tell them from bugs."""

__all__ = ["CdmaError", "ParameterError"]


class CdmaError(Exception):
    """Something the user gave cannot be used; the message says what was given, what is allowed and why."""


class ParameterError(CdmaError, ValueError):
    """A parameter, or a combination of parameters, outside what the format or the hardware allows."""
