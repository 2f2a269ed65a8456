"""What other packages add to the command: wings of this project, and distributions of others.

Each names a module by an entry point of the group ``cdma.commands``. The module has, as it likes,

``COMMANDS``, ``BENCHES``
    Names of modules with a ``COMMAND``, a :class:`cdma.command.Command`, for ``cdma`` and for ``cdma bench``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any


def modules(attribute: str) -> Iterator[ModuleType]:
    """The modules that wings name by an ``attribute``, wing by wing in the order of their names."""
    for wing in _wings():
        yield from (import_module(name) for name in getattr(wing, attribute, ()))


@cache
def _wings() -> tuple[Any, ...]:
    found = sorted(entry_points(group="cdma.commands"), key=lambda entry: entry.name)
    return tuple(wing for wing in map(_loaded, found) if wing)


def _loaded(entry: EntryPoint) -> Any:
    """The module of an entry point; None where the package that has it was taken away, as a folder can be."""
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        if error.name != entry.module.partition(".")[0]:
            raise
        return None
