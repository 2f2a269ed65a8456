"""JUnit XML: what Jenkins and GitLab read of it is there, whatever a test printed."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from cdma.app import main
from cdma.junit import Case, Suite, junit_text
from cdma.verif.campaigns import regression
from cdma.verif.campaigns.regression import Regression
from cdma.verif.campaigns.soak import soak as soaks
from cdma.verif.campaigns.soak.soak import Result
from cdma.verif.simulator.simulate import Outcome
from tests.support.commands import Refused

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


def test_a_soak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        soaks, "run_case", lambda case, jobs=1: Result(case, "soak", "a word is missing", 1, 1.0)
    )
    file = tmp_path / "r.xml"
    assert main(["soak", "--junit", str(file)]) == 1
    (suite,) = _read(file.read_text())
    text = suite.findtext("testcase/failure")
    assert text is not None
    assert text.startswith("soak: a word is missing\n")
    assert "\nagain: cdma verify " in text


def test_a_file_that_cannot_be_written_is_refused_first(tmp_path: Path, refused: Refused) -> None:
    missing = tmp_path / "none" / "r.xml"
    for file, said in (
        (tmp_path, f"{tmp_path} exists and is not a regular file"),
        (missing, f"cannot write {missing}: there is no directory"),
    ):
        assert refused("verify", "compressor", "--junit", str(file)).startswith(f"cdma: {said}")
