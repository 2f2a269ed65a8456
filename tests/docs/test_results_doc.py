"""No figure in the documents without its command: each table of ``docs/results.md`` is what a command printed."""

import re
import shlex

import pytest

from cdma import app
from docs import area_results
from tests.support.documents import blocks
from tests.support.paths import DOCS

DOCUMENT = DOCS / "results.md"


def commands() -> list[str]:
    return [line[2:] for body in blocks(DOCUMENT) for line in body.splitlines() if line.startswith("$ ")]


def test_there_are_commands():
    assert commands()


@pytest.mark.parametrize("command", commands())
def test_commands_exist(command):
    """Each command is one that this version understands."""
    words = shlex.split(command)
    if words[0] == "cdma":
        app._parser().parse_args(words[1:])


def test_each_block_of_figures_begins_with_its_command():
    for body in blocks(DOCUMENT, "console"):
        assert body.startswith("$ "), body.splitlines()[0]


def test_each_section_with_a_table_names_its_command():
    for section in re.split(r"^#+ ", DOCUMENT.read_text(), flags=re.MULTILINE)[1:]:
        if re.search(r"^\|", section, flags=re.MULTILINE):
            assert re.search(r"cdma \w+|python \S+\.py|make \w+", section), section.splitlines()[0]


def test_figures_exist():
    for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", DOCUMENT.read_text()):
        assert (DOCUMENT.parent / target).is_file(), target


def test_the_text_on_area_is_that_of_its_script(monkeypatch):
    """What ``docs/area_results.py`` says between the commands stands in the document, in the same order."""
    document = DOCUMENT.read_text()
    made_with = re.search(r"pyosys (\S+)", document)[1]
    monkeypatch.setattr(area_results, "run", lambda *arguments: "")
    monkeypatch.setattr(area_results, "version", lambda package: made_with)
    position = document.index(area_results.BEGIN)
    for part in area_results.sections("a.lib", "45", ["b.lib"], quick=False):
        position = document.index(part, position)
    assert position < document.index(area_results.END)
