"""Errors outside our own code when a circuit is measured: of the library, of the tools, of what is asked."""

from cdma.hdl.spec.errors import CdmaError

__all__ = ["LibraryError", "MeasureError", "ToolError", "ToolTimeout"]


class LibraryError(CdmaError):
    """A cell library that cannot be read, or that a circuit cannot be mapped to."""


class ToolError(CdmaError):
    """A tool is missing, or it failed on its input; the message ends with what the tool said."""


class ToolTimeout(ToolError):
    """A tool took longer than it was given."""


class MeasureError(CdmaError):
    """A measurement that makes no sense, or a point of a sweep that was lost."""
