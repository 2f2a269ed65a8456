"""What compression buys on a user's own tensors: :func:`record` watches a PyTorch model, ``cdma profile`` reads files."""

from cdma.base.lazy import names_of

__all__ = ["record"]

__getattr__ = names_of(__name__, {"record": ".recording"})
