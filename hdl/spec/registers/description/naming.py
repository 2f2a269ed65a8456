"""Checks of the names in a register map."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from cdma.base.errors import ParameterError

__all__ = ["check_distinct", "check_name", "find"]

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Part = TypeVar("_Part", bound=_Named)


def check_name(what: str, name: str) -> None:
    """Refuses a name that cannot be a part of names in Verilog, C and SystemRDL."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"{what} is named {name!r}; a name has lower-case letters, digits and single underscores, "
            "because it becomes part of Verilog, C and SystemRDL names"
        )


def check_distinct(owner: str, what: str, names: Sequence[str]) -> None:
    """Refuses a name that occurs twice among ``names``."""
    if len(set(names)) != len(names):
        raise ParameterError(f"{owner} has the {what}s {', '.join(names)}; a name may occur once")


def find(owner: str, what: str, parts: Iterable[_Part], name: str) -> _Part:
    """The one of ``parts`` that has this name."""
    parts = tuple(parts)
    for part in parts:
        if part.name == name:
            return part
    raise ParameterError(f"{owner} has no {what} {name!r}; it has {', '.join(part.name for part in parts)}")
