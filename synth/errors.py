"""Errors outside our own code when a circuit is measured: of the library, of what is asked."""

from cdma.base.errors import CdmaError

__all__ = ["LibraryError", "MeasureError"]


class LibraryError(CdmaError):
    """A cell library that cannot be read, or that a circuit cannot be mapped to."""


class MeasureError(CdmaError):
    """A measurement that makes no sense, or a point of a sweep that was lost."""
