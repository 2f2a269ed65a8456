"""Imports the names of a package on first use, so that importing the package loads little."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of ``package``: each name in ``homes`` is imported from the module that stands beside it.

    A module whose name begins with a dot lies in the package.
    """

    def attribute(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name], package), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute
