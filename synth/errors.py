"""What can go wrong outside our own code when a circuit is measured: the library, or the tools."""

from cdma.hdl.spec.errors import CdmaError

__all__ = ["LibraryError", "MeasureError", "ToolError"]


class LibraryError(CdmaError):
    """A cell library that cannot be read, or that a circuit cannot be mapped to."""


class ToolError(CdmaError):
    """A tool is missing, or it failed on its input; the message ends with what the tool said."""


class MeasureError(CdmaError):
    """A measurement was asked for that makes no sense, or one point of a sweep was lost."""
