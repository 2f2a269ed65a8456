"""Imports the names of a package on first use, so that importing the package loads little."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of ``package``, which imports each name on its first use.

    ``homes``: By module, the names that come from it, with a space between two. A module whose name begins with a dot lies
        in the package.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def attribute(name: str) -> Any:
        if name in home_of:
            return getattr(import_module(home_of[name], package), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute
