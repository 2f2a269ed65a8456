"""What is kept by content: where, under which key, made once, and never in part."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.base.cache import (
    cache_folder,
    content_key,
    kept_folder,
    kept_text,
    replace_text,
)


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
