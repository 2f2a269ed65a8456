"""Reads tables that users write, in TOML or JSON, strictly: an error names the file, the key, the value and the reason."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from cdma.base.errors import CdmaError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MISSING: Any = object()

#: Bytes of the longest table: some files, such as /dev/zero, have no end.
_MOST = 64 << 20

_T = TypeVar("_T")


class TableError(CdmaError, ValueError):
    """A table that a user gave, and that cannot be used."""


class Table:
    """One table of a file. Values are read by name and kind; :meth:`done` refuses the names that were not read.

    ``where``: Names the table in messages, such as ``vgg.toml, layer 3``.
    """

    def __init__(self, where: str, values: object) -> None:
        if not isinstance(values, Mapping):
            raise TableError(f"{where} is {values!r}; it must be a table")
        self.where = where
        self._values = values
        self._asked: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def names(self) -> list[str]:
        """Returns the names in the table; all of them count as read."""
        self._asked += self._values
        return list(self._values)

    def get(self, key: str, default: Any = _MISSING) -> Any:
        """Reads any value, as it stands."""
        self._asked.append(key)
        if key in self._values:
            return self._values[key]
        if default is _MISSING:
            raise TableError(f"{self.where} has no {key!r}, which it needs")
        return default

    def number(
        self,
        key: str,
        default: Any = _MISSING,
        *,
        least: float = -math.inf,
        above: float = -math.inf,
        most: float = math.inf,
    ) -> float:
        """Reads a finite number, at least ``least``, more than ``above`` and at most ``most``."""
        value = self.get(key, default)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and math.isfinite(value) and least <= value <= most and value > above:
            return float(value)
        bounds = {"at least": least, "more than": above, "at most": most}
        limits = [f"{words} {bound:g}" for words, bound in bounds.items() if math.isfinite(bound)]
        raise self._refused(key, value, " and ".join(["a finite number", *limits]))

    def whole(self, key: str, default: Any = _MISSING, *, least: int = 1) -> int:
        """Reads a whole number, at least ``least``."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._refused(key, value, f"a whole number, {least} or more")
        return value

    def text(self, key: str, default: Any = _MISSING) -> str:
        """Reads a text that is not empty."""
        value = self.get(key, default)
        if not isinstance(value, str) or not value.strip():
            raise self._refused(key, value, "a text that is not empty")
        return value

    def flag(self, key: str, default: Any = _MISSING) -> bool:
        """Reads true or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self._refused(key, value, "true or false")
        return value

    def choice(self, key: str, allowed: Sequence[str], default: Any = _MISSING) -> str:
        """Reads one of the texts ``allowed``."""
        value = self.get(key, default)
        if value not in allowed:
            raise self._refused(key, value, f"one of {', '.join(allowed)}")
        return str(value)

    def table(self, key: str, default: Any = _MISSING) -> Table:
        """Reads a table within this one."""
        return Table(f"{self.where}, {key}", self.get(key, default))

    def rows(self, key: str) -> list[Table]:
        """Reads a list of tables that is not empty."""
        value = self.get(key)
        if not isinstance(value, list) or not value:
            raise self._refused(key, value, "a list of at least one table")
        return [Table(f"{self.where}, {key} {place}", row) for place, row in enumerate(value, 1)]

    def numbers(self, key: str, default: Any = _MISSING, *, least: float = 0.0) -> list[float]:
        """Reads a list of finite numbers that is not empty, each at least ``least``."""
        value = self.get(key, default)
        if not isinstance(value, list) or not value:
            raise self._refused(key, value, "a list of at least one number")
        row = Table(f"{self.where}, {key}", {f"entry {place}": entry for place, entry in enumerate(value, 1)})
        return [row.number(name, least=least) for name in row.names()]

    def read(self, kind: type[_T], **given: Any) -> _T:
        """Reads a whole table as a dataclass whose fields are numbers, texts and flags; ``given`` has the others.

        A field is read by its name and its type, and may be left out if it has a default. Its metadata may have the limits
        of :meth:`number` or :meth:`whole`, and:

        ``key``: The name in the table, if it is another.
        ``scale``: What a number of the table is multiplied by, such as 1e9 for a rate in GB/s.
        """
        hints, values = get_type_hints(kind), dict(given)
        for field in fields(kind):  # type: ignore[arg-type]
            if field.name in given:
                continue
            limits = dict(field.metadata)
            key, scale = limits.pop("key", field.name), limits.pop("scale", 1)
            if key not in self and field.default is not MISSING:
                self._asked.append(key)
            elif hints[field.name] is bool:
                values[field.name] = self.flag(key)
            elif hints[field.name] is str:
                values[field.name] = self.text(key)
            elif hints[field.name] is int:
                values[field.name] = self.whole(key, **limits)
            else:
                values[field.name] = self.number(key, **limits) * scale
        self.done()
        return kind(**values)

    def settings(self, known: Sequence[str]) -> dict[str, Any]:
        """Reads all values as they stand; refuses names that are not ``known``, which are most often misspelt."""
        self._refuse_all_but(known)
        return {name: self.get(name) for name in self.names()}

    def done(self) -> None:
        """Refuses names that were not read, which are most often misspelt."""
        self._refuse_all_but(sorted(set(self._asked)))

    def _refused(self, key: str, value: object, wanted: str) -> TableError:
        return TableError(f"{self.where} has {key} = {value!r}; it must be {wanted}")

    def _refuse_all_but(self, known: Sequence[str]) -> None:
        for key in self._values:
            if key not in known:
                raise TableError(f"{self.where} has the unknown key {key!r}; it may have {', '.join(known)}")


def read_toml(path: Path) -> Table:
    """Reads the table in a TOML file; refuses an empty file, which is most often the wrong one."""
    values = _parsed(path, _text(path), tomllib.loads, "a TOML file")
    if not values:
        raise TableError(f"{path} is empty; it must be a TOML file with at least one key")
    return Table(str(path), values)


def read_json(path: Path) -> Table:
    """Reads the object in a JSON file."""
    text = _text(path)
    if not text.strip():
        raise TableError(f"{path} is empty; it must hold a JSON object")
    return Table(str(path), _parsed(path, text, json.loads, "a JSON file"))


def read_json_rows(path: Path) -> list[dict[str, Any]]:
    """Reads the objects in the list that a JSON file is."""
    found = _parsed(path, _text(path), json.loads, "a JSON file")
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise TableError(f"{path} is not a list of rows")
    return found


def _parsed(path: Path, text: str, parse: Callable[[str], object], kind: str) -> object:
    try:
        return parse(text)
    except RecursionError:
        raise TableError(f"{path} is nested too deeply") from None
    except ValueError as error:  # which both parsers' errors are
        raise TableError(f"{path} is not {kind}: {error}") from None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST + 1)
        if len(content) > _MOST:
            raise TableError(f"{path} has more than {_MOST >> 20} MiB; no table of a user is as long")
        return content.decode("utf-8")
    except OSError as error:
        raise TableError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not a text in UTF-8: {error.reason} at byte {error.start}") from None
