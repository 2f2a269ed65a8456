"""Output files that are either whole or absent, and so are the folders made for them."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from cdma import files
from cdma.files import FileError, making_directory, ready_directory, write_folder


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
