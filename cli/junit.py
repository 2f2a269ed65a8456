"""Results as JUnit XML, which Jenkins, GitLab and most other servers of continuous integration read."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from .command import option
from .files import ready_file, write_text

#: What XML 1.0 has no way to write, such as the escape character of colours in a log.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


#: The option that :func:`junit_file` reads.
JUNIT = option("--junit FILE", "write the results as JUnit XML into FILE", Path)


@dataclass(frozen=True)
class Case:
    """One test and what became of it. It passed where neither ``failure`` nor ``skipped`` says anything.

    ``group``: What the test is of; servers show the tests of one group together.
    ``failure``: What went wrong, in a line or more.
    ``replay``: The command that runs it again.
    ``skipped``: Why it says nothing.
    ``log``: What it printed.
    """

    name: str
    group: str
    seconds: float = 0.0
    failure: str = ""
    replay: str = ""
    skipped: str = ""
    log: str = ""


@dataclass(frozen=True)
class Suite:
    """The tests of one run, and its ``properties``: what ran, with which seed."""

    name: str
    cases: Sequence[Case]
    properties: Mapping[str, object] = field(default_factory=dict)


def junit_file(arguments: argparse.Namespace) -> Path | None:
    """The file to write, refused before anything runs where it could not be written at the end."""
    path: Path | None = arguments.junit
    if path is not None:
        ready_file(path)
    return path


def write_junit(path: Path | None, suites: Sequence[Suite]) -> None:
    """Writes the file whole, if there shall be one."""
    if path is not None:
        write_text(path.parent, path.name, junit_text(suites))


def junit_text(suites: Sequence[Suite]) -> str:
    """The results of ``suites`` as XML."""
    root = ElementTree.Element("testsuites", _totals([case for suite in suites for case in suite.cases]))
    for suite in suites:
        element = ElementTree.SubElement(root, "testsuite", {"name": suite.name, **_totals(suite.cases)})
        properties = ElementTree.SubElement(element, "properties")
        for name, value in suite.properties.items():
            ElementTree.SubElement(properties, "property", {"name": name, "value": _legal(str(value))})
        for case in suite.cases:
            _add_case(element, case)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _totals(cases: Sequence[Case]) -> dict[str, str]:
    return {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.failure) for case in cases)),
        "errors": "0",
        "skipped": str(sum(bool(case.skipped) for case in cases)),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _add_case(suite: ElementTree.Element, case: Case) -> None:
    told = {"name": case.name, "classname": case.group, "time": f"{case.seconds:.3f}"}
    element = ElementTree.SubElement(suite, "testcase", told)
    if case.failure:
        text = _legal(case.failure)
        failure = ElementTree.SubElement(
            element, "failure", {"message": text.splitlines()[0], "type": "failure"}
        )
        failure.text = text + (f"\nagain: {_legal(case.replay)}" if case.replay else "")
    elif case.skipped:
        ElementTree.SubElement(element, "skipped", {"message": _legal(case.skipped)})
    if case.log:
        ElementTree.SubElement(element, "system-out").text = _legal(case.log)


def _legal(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
