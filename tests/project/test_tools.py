"""The check that two versions make the same things notices what differs. The counts of ``make weight``, on a project of
four files. The faults put into the sources, and what says whether the tests see them. What is taken by turns: ten
revisions in a row take all of it, each about as much.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import mutants, same_output, weight
from tests.mutants import Mutant
from tests.support.thorough import TURNS, this_turn, turn_of

_PRINTS = "import cdma; print(cdma.NUMBER)"
_WRITES = "import cdma; open('file', 'w').write(cdma.TEXT)"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one file with one commit, and two cases that look at it."""
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "__init__.py").write_text("NUMBER, TEXT = 1, 'a'\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    cases = {
        name: [[sys.executable, "-c", code]] for name, code in (("prints", _PRINTS), ("writes", _WRITES))
    }
    monkeypatch.setattr(same_output, "cases", lambda: cases)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "chosen", "said"),
    [
        ("NUMBER, TEXT = 1, 'a'  # the same", [], "2 cases, all the same"),
        ("NUMBER, TEXT = 2, 'a'", [], "prints: standard output differs"),
        ("NUMBER, TEXT = 1, 'b'", [], "writes: file differs"),
        ("NUMBER, TEXT = 1, 'b'", ["prints"], "1 cases, all the same"),
    ],
)
def test_against_a_revision(
    checkout: Path, changed: str, chosen: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "cli" / "__init__.py").write_text(changed)
    status = same_output.main(["against", "HEAD", *chosen], checkout)
    assert capsys.readouterr().out == f"{said}\n"
    assert status == ("differs" in said)
    trees = subprocess.check_output(["git", "-C", str(checkout), "worktree", "list"], text=True)
    assert trees.count("\n") == 1


def test_in_two_steps(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = str(tmp_path / "before.json")
    assert same_output.main(["record", before], checkout) == 0
    assert same_output.main(["compare", before], checkout) == 0
    (checkout / "cli" / "__init__.py").write_text("NUMBER, TEXT = 2, 'b'\n")
    assert same_output.main(["compare", before], checkout) == 1
    assert capsys.readouterr().out.splitlines() == [
        "2 cases, all the same",
        "prints: standard output differs",
        "writes: file differs",
    ]


def test_a_file_that_comes_or_goes_differs() -> None:
    one, two = {"case": {"a": "1"}}, {"case": {"a": "1", "b": "2"}}
    assert same_output.differences(one, two) == same_output.differences(two, one) == ["case: b differs"]
    assert same_output.differences({}, one) == ["case: a differs"]


def test_a_command_that_fails_ends_it(checkout: Path) -> None:
    (checkout / "cli" / "__init__.py").write_text("")
    with pytest.raises(SystemExit, match="has no attribute"):
        same_output.main(["against", "HEAD"], checkout)


_FILES = {
    "hdl/spec/codec.py": "class CodecConfig:\n    lanes: int = 8\n",
    "hdl/spec/engine.py": "class EngineConfig:\n    lanes: int = 8\n    crc: bool = False\n",
    "hdl/axi/ports/burst.py": (
        "from cdma.hdl.spec.codec import CodecConfig\nfrom cdma.hdl.spec import engine\n# planes\n"
        "if engine:\n    optional(1 if 2 else 3)\n"
    ),
    "extras/study/app.py": "import cdma.hdl.axi.ports.burst\n",
    "tests/test_app.py": "crc = 1\n",
    "README.md": "What\nit\nis.\n",
    "docs/registers.md": "0\n1\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in _FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    return tmp_path


def test_every_count(project: Path) -> None:
    assert weight.weight(project) == {
        "lines: product": 11,
        "lines: core": 10,
        "lines: tests": 1,
        "lines: documents, written": 3,
        "files: product": 4,
        "files: tests": 1,
        "lines: a file of the product": 3,
        "rooms": 3,
        "rooms: core": 2,
        "arrows": 2,
        "arrows: core": 1,
        "conditions at elaboration": 2,
        "conditions in one file, at most": 2,
        "calls of optional and Pace": 1,
        "lines: extras/study": 1,
        "lines: hdl/axi": 5,
        "lines: hdl/spec": 5,
        "files that name lanes": 2,
        "files that name crc": 1,
    }


def test_a_revision_stands_beside(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "hdl/spec/codec.py").write_text(
        "class CodecConfig:\n    lanes: int = 8\n    crc: bool = True\n"
    )
    assert weight.main(["--base", "HEAD", "--json"], project) == 0
    counts = json.loads(capsys.readouterr().out)
    assert {title: each["files that name crc"] for title, each in counts.items()} == {"HEAD": 1, "now": 2}
    assert weight.main(["--base", "HEAD"], project) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["HEAD", "now"]
    assert "        11        12  lines: product" in said


_SOURCE = """
class Adder:
    def sum(self, one, two):
        total = one + two
        return total

def limit(value):
    if value < 7:
        return value
    return value
"""

_TEST = """
from cdma.hdl.moved import Adder

def test_sum():
    assert Adder().sum(1, 2) == 3
"""


def test_mutants_of_a_file() -> None:
    assert list(mutants.mutants_in(_SOURCE, "hdl/a.py")) == [
        Mutant("hdl/a.py", "Adder.sum", "total = one + two", "total = one - two"),
        Mutant("hdl/a.py", "limit", "if value < 7:", "if value <= 7:"),
        Mutant("hdl/a.py", "limit", "if value < 7:", "if value < 8:"),
    ]


@pytest.fixture
def mutants_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one function, which has moved, and its test."""
    for name, text in {
        "cli/__init__.py": "",
        "hdl/__init__.py": "",
        "hdl/moved.py": _SOURCE,
        "sim/__init__.py": "",
        "tests/hdl/test_adder.py": _TEST,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "before", "after", "expected"),
    [
        (
            "Adder.sum",
            "total = one + two",
            "total = one - two",
            "killed by FAILED tests/hdl/test_adder.py::test_sum",
        ),
        ("limit", "if value < 7:", "if value < 8:", "survived"),
        ("limit", "if value < 9:", "if value < 8:", "gone"),
    ],
)
def test_verdicts(mutants_project: Path, function: str, before: str, after: str, expected: str) -> None:
    assert mutants.verdict(Mutant("hdl/a.py", function, before, after), None, 60) == expected


@pytest.mark.parametrize(("after", "status"), [("survived", 1), ("gone", 0), ("killed by another test", 0)])
def test_a_fault_that_is_no_longer_found_is_a_failure(tmp_path: Path, after: str, status: int) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps({"a": "killed by a test", "b": "survived"}))
    new.write_text(json.dumps({"a": after, "b": "survived"}))
    assert mutants.main(["compare", str(old), str(new)]) == status


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
def test_as_many_revisions_as_turns_take_everything_once(history: Path, count: int) -> None:
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
