"""What commands show: progress on a terminal only, tables as wide as they need to be. Output files that are either whole
or absent, and so are the folders made for them. JUnit XML: what Jenkins and GitLab read of it is there, whatever a
test printed.
"""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree

import pytest
from rich.console import Console

from cdma import files, output
from cdma.app import main
from cdma.base.document import Table
from cdma.files import FileError, making_directory, ready_directory, write_folder
from cdma.junit import Case, Suite, junit_text
from cdma.output import byte_progress, part_progress, status, step_progress
from cdma.verif.campaigns import regression
from cdma.verif.campaigns.regression import Regression
from cdma.verif.simulator.simulate import Outcome
from tests.support.commands import Refused


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
    titles = ("name", "number of everything", "another number")
    output.show_part(Table(titles, [("x" * 60, "1", "2,000")], (1, 2)))
    shown, row = capsys.readouterr().out.splitlines()
    assert shown.split() == ["name", "number", "of", "everything", "another", "number"]
    assert row.endswith(" 1           2,000")
    assert not sys.stdout.isatty()


def test_a_pipe_gets_no_spaces_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_part(Table(("name", "what for"), [("a", "short"), ("b", "long " * 50), ("c", "")]))
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


#: The attributes that both servers read, of each element.
READ = {
    "testsuites": {"tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "skipped": {"message"},
    "property": {"name", "value"},
}


def _read(text: str) -> ElementTree.Element:
    """The root; every element is where both servers look for it and has the attributes that they read."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) == READ.get(element.tag, set()), element.tag
    for suite in root:
        assert suite.tag == "testsuite"
        cases = suite.findall("testcase")
        counted = {"tests": len(cases)}
        counted["failures"] = sum(case.find("failure") is not None for case in cases)
        counted["skipped"] = sum(case.find("skipped") is not None for case in cases)
        assert {name: int(suite.attrib[name]) for name in counted} == counted
        assert sum(float(case.attrib["time"]) for case in cases) == pytest.approx(float(suite.attrib["time"]))
    return root


def test_passed_failed_and_skipped_cases_are_told_apart() -> None:
    cases = [
        Case("fine", "group", 1.25),
        Case(
            "bad",
            "group",
            2.0,
            failure="17 < 18 & more\nseed 3",
            replay="cdma verify x",
            log="\x1b[31mred\x00",
        ),
        Case("none", "group", skipped="says nothing"),
    ]
    root = _read(junit_text([Suite("first", cases, {"seed": 3}), Suite("second", cases[:1])]))
    assert root.attrib == {"tests": "4", "failures": "1", "errors": "0", "skipped": "1", "time": "4.500"}
    bad = root[0].findall("testcase")[1]
    failure = bad.find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "17 < 18 & more"
    assert failure.text == "17 < 18 & more\nseed 3\nagain: cdma verify x"
    assert bad.findtext("system-out") == "\ufffd[31mred\ufffd"


def test_a_regression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [
        Outcome("soak", None, 3, 30, 300, seconds=2.0),
        Outcome("bound", "a cycle too many", log="said"),
    ]
    monkeypatch.setattr(
        regression, "verify", lambda design, **options: Regression(design, options["seed"], 50, outcomes)
    )
    file = tmp_path / "r.xml"
    command = ["verify", "decompressor", "--lanes", "4", "--seed", "7", "--simulator", "icarus"]
    assert main([*command, "--junit", str(file)]) == 1
    (suite,) = _read(file.read_text())
    told = {each.attrib["name"]: each.attrib["value"] for each in suite.iter("property")}
    assert told["seed"] == "7"
    assert told["design"].startswith("decompressor 4x32")
    passed, failed = suite.findall("testcase")
    assert (passed.attrib["name"], passed.attrib["classname"]) == ("soak", "verify.decompressor")
    text = failed.findtext("failure")
    assert text is not None
    assert text.splitlines() == [
        "a cycle too many",
        "seed 7",
        "again: cdma verify decompressor --lanes 4 --tests bound --seed 7 --packets 50 --simulator icarus",
    ]


def test_a_file_that_cannot_be_written_is_refused_first(tmp_path: Path, refused: Refused) -> None:
    missing = tmp_path / "none" / "r.xml"
    for file, said in (
        (tmp_path, f"{tmp_path} exists and is not a regular file"),
        (missing, f"cannot write {missing}: there is no directory"),
    ):
        assert refused("verify", "compressor", "--junit", str(file)).startswith(f"cdma: {said}")
