"""What a release is made of: the notes of its version, and archives that are the same whenever their files are."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from cdma import __version__
from cdma.app import parser
from cdma.streams import commands_of
from docs.release import BLOCKS, notes, pack
from tests.support.paths import ROOT

_CHANGES = "# Changes\n\n## Unreleased\n\n## 1.2.0 (a day)\n\n- One.\n\n## 1.2\n\n- Two.\n"


@pytest.mark.parametrize(("version", "said"), [("1.2.0", "- One."), ("1.2", "- Two.")])
def test_the_notes_are_those_of_the_version(version: str, said: str) -> None:
    assert notes(_CHANGES, version).endswith(f"\n\n{said}\n")


@pytest.mark.parametrize(("changes", "version"), [(_CHANGES, "1.3"), (_CHANGES.replace("- Two.", ""), "1.2")])
def test_a_version_without_notes_is_refused(changes: str, version: str) -> None:
    with pytest.raises(SystemExit, match="has no section"):
        notes(changes, version)


def test_this_version_has_notes() -> None:
    assert notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), __version__)


def test_the_driver_for_linux_has_the_version_of_all() -> None:
    project = (ROOT / "extras" / "linux" / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{__version__}"\n' in project


def test_every_block_is_in_it() -> None:
    names = {command.prog.split()[-1] for command in commands_of(parser()) if " generate " in command.prog}
    assert names == set(BLOCKS)


def test_archives_are_reproducible(tmp_path: Path) -> None:
    archives = []
    for order in ("ab", "ba"):
        folder = tmp_path / order
        (folder / "in").mkdir(parents=True)
        for name in order:
            (folder / "in" / name).write_text(name)
        (tmp_path / f"{order}.d").mkdir()
        archives.append(tmp_path / f"{order}.d" / "x-1.zip")
        pack(folder, archives[-1])
    assert archives[0].read_bytes() == archives[1].read_bytes()
    assert zipfile.ZipFile(archives[0]).namelist() == ["x-1/in/a", "x-1/in/b"]
