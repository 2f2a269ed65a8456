"""What the GPU needs, imported when something needs it: PyTorch and a Triton that is new enough."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cdma.base.errors import CdmaError, ToolError, install_command

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
