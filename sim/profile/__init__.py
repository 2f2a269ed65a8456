"""What compression buys on a user's own tensors: :func:`record` watches a PyTorch model, ``cdma profile`` reads files."""

from typing import Any

__all__ = ["record"]


def __getattr__(name: str) -> Any:
    if name == "record":
        from .recording import record

        return record
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
