"""Which streams can be split at their windows."""

from __future__ import annotations

from .format import Format
from .stream_format import StreamFormat

__all__ = ["splittable"]


def splittable(format: StreamFormat) -> str | None:
    """Why no hardware finds the windows of a stream of this format; None if there is such hardware."""
    if isinstance(format, Format):
        return None
    return f"the codec is {format.codec}; a stream is split by headers of the codec {Format.codec} only"
