"""Tensors on a GPU, for :mod:`cdma.door`: they go to the kernels there.

Nothing is loaded before a tensor needs it: PyTorch, and a Triton that is new enough.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cdma.base.errors import CdmaError, ToolError, install_command
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.sim.codec.model import Analysis

#: The least Triton that has run the kernels.
_LEAST = (3, 6)


class MissingTriton(CdmaError, ImportError):
    """The codec on the GPU needs an extra that is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"the codec on the GPU needs the package {package}: {install_command('gpu')}")


def torch() -> Any:
    """PyTorch."""
    try:
        return import_module("torch")
    except ImportError:
        raise MissingTriton("torch") from None


def kernels_in(module: str) -> Any:
    """A module of this room that has kernels."""
    torch()
    try:
        # Some builds of PyTorch bring it in a package of another name.
        found = import_module("triton").__version__
    except ImportError:
        raise MissingTriton("triton") from None
    if tuple(int(part) for part in found.split(".")[:2]) < _LEAST:
        least = ".".join(map(str, _LEAST))
        raise ToolError(
            f"triton is {found}; the codec on the GPU needs {least} or newer: {install_command('gpu')}"
        )
    return import_module(f".{module}", __package__)


def takes(array: Any) -> bool:
    """Whether something is a tensor of PyTorch on a GPU, which is any device but its CPU."""
    return isinstance(array, torch().Tensor) and array.device.type != "cpu"


def compress(array: Any, format: StreamFormat, *, base: Any = None, out: Any = None) -> Any:
    """The compressed stream of a tensor, a tensor of bytes there."""
    return kernels_in("tensors").compress(array, format, base=base, out=out)


def decompress(data: Any, words: int, format: StreamFormat, *, base: Any = None, out: Any = None) -> Any:
    """The unsigned words of a stream, a tensor there."""
    return kernels_in("tensors").decompress(data, words, format, base=base, out=out)


def analyse(array: Any, format: StreamFormat, *, base: Any = None) -> Analysis:
    """Counts what :func:`compress` would store."""
    counted: Analysis = kernels_in("tensors").analyse(array, format, base=base)
    return counted


def fit(array: Any, format: Format, *, base: Any = None, whole: bool = False) -> Format:
    """The format with the table that makes the stream of a tensor shortest."""
    fitted: Format = kernels_in("tensors").fit(array, format, base=base, whole=whole)
    return fitted
