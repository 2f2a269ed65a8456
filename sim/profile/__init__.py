"""What compression buys on a user's own tensors: :func:`record` watches a model, ``cdma profile`` reads files."""

from typing import Any

__all__ = ["record"]


def __getattr__(name: str) -> Any:
    if name == "record":
        from .report import record

        return record
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
