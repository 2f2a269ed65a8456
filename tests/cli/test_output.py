"""What commands show: progress on a terminal only, tables as wide as they need to be. Output files that are either whole
or absent, and so are the folders made for them.
"""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
from rich.console import Console

from cdma import files, output
from cdma.files import FileError, making_directory, ready_directory, write_folder
from cdma.output import byte_progress, new_table, part_progress, status, step_progress


def _work() -> None:
    """Uses every kind of progress once."""
    with status() as say:
        say("thinking")
    with byte_progress("reading", 10) as advance:
        advance(10)
    with step_progress("measuring", 2) as step:
        step()
        step(what="the second")
    with part_progress() as tell:
        tell("half", 0.5)


def test_a_pipe_gets_no_progress(capfd: pytest.CaptureFixture[str]) -> None:
    _work()
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_progress_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80)
    monkeypatch.setattr(output, "_progress_console", lambda: console)
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    _work()
    for words in ("thinking", "reading", "the second", "2/2", "half", "50%"):
        assert words in shown.getvalue()
    assert capfd.readouterr() == ("", "")


def test_a_table_keeps_its_columns_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    table = new_table("name", "number of everything", "another number", texts=1)
    table.add_row("x" * 60, "1", "2,000")
    output.output().print(table)
    titles, row = capsys.readouterr().out.splitlines()
    assert titles.split() == ["name", "number", "of", "everything", "another", "number"]
    assert row.endswith(" 1           2,000")
    assert not sys.stdout.isatty()


def test_a_pipe_gets_no_spaces_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    table = new_table("name", "what for", texts=2)
    table.add_row("a", "short")
    table.add_row("b", "long " * 50)
    table.add_row("c", "")
    output.output().print(table)
    lines = capsys.readouterr().out.split("\n")
    assert lines == ["name  what for", "a     short", f"b     {'long ' * 49}long", "c", ""]


def test_a_full_disk_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def full(path: Path, source: Path | None = None) -> Iterator[BinaryIO]:
        raise FileError(errno.ENOSPC, "No space left on device")
        yield

    monkeypatch.setattr(files, "replacing", full)
    with pytest.raises(FileError, match="No space left"):
        write_folder(tmp_path / "a" / "b", {"c": "d"})
    assert list(tmp_path.iterdir()) == []


def _end_badly(directory: Path, file: Path | None = None) -> None:
    with making_directory(directory):
        assert directory.is_dir()
        if file is not None:
            file.touch()
        raise FileError("ends")


def test_files_from_before_stay(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(FileError, match="ends"):
        _end_badly(tmp_path / "a" / "b" / "c")
    assert list(tmp_path.rglob("*")) == [tmp_path / "a"]


def test_folders_that_are_not_empty_stay(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="ends"):
        _end_badly(tmp_path / "a" / "b", tmp_path / "a" / "c")
    assert list(tmp_path.rglob("*")) == [tmp_path / "a", tmp_path / "a" / "c"]


def test_a_folder_made_well_stays(tmp_path: Path) -> None:
    assert write_folder(tmp_path / "a" / "b", {"c": "d"}) == [tmp_path / "a" / "b" / "c"]
    assert (tmp_path / "a" / "b" / "c").read_text() == "d"


def test_a_folder_that_is_only_tried_leaves_no_part(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder, message in (("a/b", ""), ("file/c", "cannot write to the directory")):
        if message:
            with pytest.raises(FileError, match=message):
                ready_directory(tmp_path / folder)
        else:
            ready_directory(tmp_path / folder)
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
