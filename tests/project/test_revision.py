"""What is taken by turns: ten revisions in a row take all of it, each about as much."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.thorough import TURNS, this_turn, turn_of


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, *("-c", "user.name=x", "-c", "user.email=x@x"), "commit", "--allow-empty", "-m", "x")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository of three revisions."""
    folder = tmp_path / "history"
    folder.mkdir()
    git(folder, "init")
    for _ in range(3):
        commit(folder)
    return folder


@pytest.mark.parametrize("count", [9, 29, 30])
def test_ten_revisions_in_a_row_take_everything_once(history: Path, count: int) -> None:
    names, taken = [str(number) for number in range(count)], []
    for _ in range(TURNS):
        taken.append(this_turn(names, turn_of(history)))
        commit(history)
    assert set.union(*taken) == set(names)
    assert sum(map(len, taken)) == len(names)
    assert max(map(len, taken)) - min(map(len, taken)) <= 1


def test_the_turn_is_the_count_of_revisions(history: Path) -> None:
    assert turn_of(history) == 3


def test_a_shallow_clone_takes_a_turn_by_its_revision(history: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--depth", "1", history.as_uri(), "shallow")
    number = subprocess.run(["git", "rev-parse", "HEAD"], cwd=history, capture_output=True, text=True).stdout
    assert turn_of(tmp_path / "shallow") == int(number, 16) % TURNS


def test_what_has_no_history_takes_the_first_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert turn_of(tmp_path) == 0
    monkeypatch.setenv("PATH", "")
    assert turn_of() == 0
