"""The packages of the extra ``torch``, imported when something needs them, and the versions that records name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cdma.base.errors import CdmaError, install_command


class MissingTorch(CdmaError, ImportError):
    """Training needs an extra that is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"training needs the package {package}: {install_command('torch')}")


def require(module: str, package: str) -> Any:
    """Imports ``module``; raises :class:`MissingTorch`, which names its ``package``, if that fails."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingTorch(package) from None


def torch_version() -> str:
    """That of PyTorch; an error says how it comes where it is not."""
    return str(require("torch", "torch").__version__)


def versions() -> dict[str, str]:
    """Returns the versions by package."""
    sklearn = require("sklearn", "scikit-learn")
    return {
        "torch": torch_version(),
        "scikit-learn": str(sklearn.__version__),
        "numpy": str(require("numpy", "numpy").__version__),
    }
