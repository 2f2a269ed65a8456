"""The errors that a user can cause. They have one base, so that a front end can tell them from bugs."""

__all__ = ["CdmaError", "ParameterError", "ToolError", "ToolTimeout"]


class CdmaError(Exception):
    """An input of the user's is invalid; the message says what was given, what is allowed and why."""


class ParameterError(CdmaError, ValueError):
    """A parameter, or a combination of parameters, outside what the format or the hardware allows."""


class ToolError(CdmaError):
    """A tool is missing, or it failed on its input; the message ends with what the tool said."""


class ToolTimeout(ToolError):
    """A tool took longer than it was given."""
