"""What is kept by content: where, under which key, made once, and never in part. What an error tells a user to install
works from where the user is. Tables in files: what they refuse names the file, the key, the value and the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cdma.base import errors
from cdma.base.cache import cache_folder, content_key, kept_folder, kept_text, replace_text
from cdma.base.toml_table import Table, TableError, read_json, read_toml
from tests.support.paths import ROOT


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDMA_CACHE", "/a")
    assert cache_folder() == Path("/a")
    monkeypatch.delenv("CDMA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert cache_folder() == Path("/b/cdma")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/c")
    assert cache_folder() == Path("/c/.cache/cdma")


def test_keys_tell_where_a_part_ends() -> None:
    keys = {content_key(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("ab", "c", ""))}
    assert len(keys) == 4
    assert content_key("a") == content_key(b"a")


def test_a_text_is_made_once(tmp_path: Path) -> None:
    assert kept_text("verilog", "k" * 64, ".v", lambda: "module") == "module"
    assert kept_text("verilog", "k" * 64, ".v", lambda: pytest.fail("made again")) == "module"
    assert [path.name for path in (tmp_path / "verilog").iterdir()] == ["k" * 32 + ".v"]


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "sim").write_text("x")

    first = kept_folder("sim", "k" * 64, make)
    assert kept_folder("sim", "k" * 64, lambda _: pytest.fail("made again")) == first
    assert (first / "sim").read_text() == "x"
    assert list((tmp_path / "sim").iterdir()) == [first]


def test_a_folder_that_another_process_has_made_meanwhile_is_taken() -> None:
    def make(folder: Path) -> None:
        kept_folder("sim", "k" * 64, lambda other: (other / "sim").write_text("first") and None)
        (folder / "sim").write_text("second")

    assert (kept_folder("sim", "k" * 64, make) / "sim").read_text() == "first"


def test_a_failure_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        kept_folder("sim", "k" * 64, lambda _: 1 // 0 and None)
    assert not list((tmp_path / "sim").iterdir())
    path = tmp_path / "value.json"
    replace_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "\ud800")
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(".part-*"))


class _Installed:
    def __init__(self, origin: dict[str, object] | None) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._origin is None else json.dumps(self._origin)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch):
    """Says how pip installed the distribution, whose build lies in the path before it."""

    def say(url: str | None) -> None:
        origin = None if url is None else {"url": url, "dir_info": {}}
        monkeypatch.setattr(
            errors, "distributions", lambda name: iter([_Installed(None), _Installed(origin)])
        )

    return say


def test_checkout(installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    installed(folder.as_uri())
    monkeypatch.chdir(folder)
    assert errors.install_command("verif") == "pip install '.[verif]'"
    monkeypatch.chdir(tmp_path)
    assert errors.install_command("verif") == f"pip install '{folder}[verif]'"


def test_wheel_and_index(installed, tmp_path: Path) -> None:
    wheel = tmp_path / "compressing_dma-1-py3-none-any.whl"
    installed(wheel.as_uri())
    assert errors.install_command("bench") == "pip install 'compressing-dma[bench]'", "the wheel is gone"
    wheel.touch()
    assert errors.install_command("bench") == f"pip install 'compressing-dma[bench] @ {wheel.as_uri()}'"
    installed(None)
    assert errors.install_command("bench") == "pip install 'compressing-dma[bench]'"


def test_sources_that_are_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(errors, "distributions", lambda name: iter([]))
    monkeypatch.chdir(ROOT)
    assert errors.install_command("dask") == "pip install '.[dask]'"
    monkeypatch.chdir(tmp_path)
    assert errors.install_command("dask") == "pip install 'compressing-dma[dask]'"


def test_no_text_names_the_distribution_of_others() -> None:
    """``cdma`` on PyPI is another project: nothing may tell a user to install it."""
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("cli", "hdl", "sim", "verif", "synth", "extras", "docs", "README.md", "pyproject.toml")
        for path in ([ROOT / folder] if (ROOT / folder).is_file() else (ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".toml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "cdma[" in line.replace("cdma[int]", "")
    ]
    assert found == []


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
