"""Tables in files: what they refuse names the file, the key, the value and the reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cdma.base.toml_table import Table, TableError, read_json, read_toml


def test_settings_are_all_values() -> None:
    table = Table("mine.toml", {"lanes": 8, "values": [0, 1]})
    assert table.settings(("window", "lanes", "values")) == {"lanes": 8, "values": [0, 1]}
    with pytest.raises(
        TableError, match=r"^mine\.toml has the unknown key 'lanes'; it may have window, values$"
    ):
        table.settings(("window", "values"))


def test_done_refuses_what_was_not_read() -> None:
    table = Table("mine.toml", {"lanes": 8, "lane": 4})
    assert table.whole("lanes") == 8
    with pytest.raises(TableError, match=r"^mine\.toml has the unknown key 'lane'; it may have lanes$"):
        table.done()
    table.names()
    table.done()


@dataclass(frozen=True)
class Part:
    """What a table is read as."""

    name: str
    count: int
    origin: object
    rate: float = field(metadata={"key": "GBps", "scale": 1e9, "above": 0})
    spare: float | None = None
    on: bool = True


def test_a_table_is_read_as_a_dataclass() -> None:
    table = Table("mine.toml", {"name": "a", "count": 2, "GBps": 1.5, "on": False})
    assert table.read(Part, origin="here") == Part("a", 2, "here", 1.5e9, None, False)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"GBps": 0}, "GBps = 0; it must be a finite number and more than 0"),
        ({"count": 1.5}, "count = 1.5; it must be a whole number"),
        ({"on": 1}, "on = 1; it must be true or false"),
        ({"rate": 1}, "unknown key 'rate'; it may have GBps, count, name, on, spare"),
        ({"origin": 1}, "unknown key 'origin'"),
    ],
)
def test_a_dataclass_is_read_strictly(changed: dict[str, object], reason: str) -> None:
    table = Table("mine.toml", {"name": "a", "count": 2, "GBps": 1.5, **changed})
    with pytest.raises(TableError, match=rf"^mine\.toml has .*{re.escape(reason)}"):
        table.read(Part, origin="here")


@pytest.mark.parametrize(
    ("read", "value", "reason"),
    [
        (lambda table: table.number("x", above=0), 0, "it must be a finite number and more than 0"),
        (lambda table: table.number("x", most=1), 2.5, "it must be a finite number and at most 1"),
        (lambda table: table.number("x"), True, "it must be a finite number"),
        (lambda table: table.whole("x"), 1.0, "it must be a whole number, 1 or more"),
        (lambda table: table.text("x"), " ", "it must be a text that is not empty"),
        (lambda table: table.flag("x"), 1, "it must be true or false"),
        (lambda table: table.choice("x", ("a", "b")), "c", "it must be one of a, b"),
        (lambda table: table.rows("x"), [], "it must be a list of at least one table"),
        (lambda table: table.numbers("x"), [], "it must be a list of at least one number"),
    ],
)
def test_refusals(read: Callable[[Table], object], value: Any, reason: str) -> None:
    with pytest.raises(TableError, match=f"^t has x = {re.escape(repr(value))}; {reason}$"):
        read(Table("t", {"x": value}))


def test_a_missing_key_has_its_default_or_is_refused() -> None:
    assert Table("t", {}).whole("x", 3) == 3
    with pytest.raises(TableError, match=r"^t has no 'x', which it needs$"):
        Table("t", {}).whole("x")


def test_empty_files(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_text("\n")
    for read in (read_toml, read_json):
        with pytest.raises(TableError, match="empty is empty; it must"):
            read(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "bad"
    with pytest.raises(TableError, match=r"^cannot read .*bad: No such file or directory$"):
        read_toml(path)
    path.write_bytes(b"\xff")
    with pytest.raises(TableError, match=r"bad is not a text in UTF-8: invalid start byte at byte 0$"):
        read_toml(path)
    path.write_text("lanes = ")
    with pytest.raises(TableError, match="bad is not a TOML file: "):
        read_toml(path)
    with pytest.raises(TableError, match="bad is not a JSON file: "):
        read_json(path)
