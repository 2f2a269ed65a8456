"""The check that two versions make the same things notices what differs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import same_output

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
