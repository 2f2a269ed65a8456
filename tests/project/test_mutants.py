"""The faults put into the sources, and what says whether the tests see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import mutants
from tests.mutants import Mutant

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
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
def test_verdicts(project: Path, function: str, before: str, after: str, expected: str) -> None:
    assert mutants.verdict(Mutant("hdl/a.py", function, before, after), None, 60) == expected


@pytest.mark.parametrize(("after", "status"), [("survived", 1), ("gone", 0), ("killed by another test", 0)])
def test_a_fault_that_is_no_longer_found_is_a_failure(tmp_path: Path, after: str, status: int) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps({"a": "killed by a test", "b": "survived"}))
    new.write_text(json.dumps({"a": after, "b": "survived"}))
    assert mutants.main(["compare", str(old), str(new)]) == status
