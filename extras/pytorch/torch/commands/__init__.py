"""The benches of GPUs and of what autograd keeps, which :mod:`cdma.wings` finds: all are ``cdma bench …``."""

__all__ = ["BENCHES"]

BENCHES = tuple(
    f"{__name__}.{name}" for name in ("swap", "advisor", "batch", "saved", "stream", "kernels", "gpu")
)
