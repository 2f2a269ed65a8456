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
        app.parser().parse_args(words[1:])


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
    monkeypatch.setattr(area_results, "run", lambda *arguments, **options: "")
    monkeypatch.setattr(area_results, "unit_tables", lambda libraries: "")
    monkeypatch.setattr(area_results, "version", lambda package: made_with)
    libraries = area_results.Libraries("a.lib", "45", ("b.lib",))
    position = document.index(area_results.BEGIN)
    written = [name for name in area_results.PARTS if area_results.mark(name) in document]
    assert written
    for name in written:
        position = document.index(area_results.mark(name), position)
        for text in area_results.PARTS[name](libraries):
            position = document.index(text, position)
    assert position < document.index(area_results.END)


def test_a_part_on_area_is_put_where_it_belongs():
    document = area_results.put("engine", "an engine\n", "# Results\n")
    document = area_results.put("codecs", "codecs", document)
    assert document.index("codecs") < document.index("an engine")
    again = area_results.put("engine", "another\n", document)
    assert again == document.replace("an engine", "another")
    assert area_results.put("engine", "another", again) == again


def test_a_command_that_fails_leaves_its_part_as_it_was(monkeypatch, tmp_path):
    (tmp_path / "results.md").write_text(area_results.put("codecs", "as before", "# Results\n"))

    def failing(libraries):
        raise area_results.CommandFailed("cdma area: no")
        yield

    monkeypatch.setattr(area_results, "DOCS", tmp_path)
    monkeypatch.setattr(area_results, "PARTS", {"codecs": failing, "engine": lambda libraries: iter(["new"])})
    monkeypatch.setattr("sys.argv", ["area_results.py", "--liberty", "a.lib", "--feature-size", "45"])
    with pytest.raises(SystemExit, match=r"^not written, and as before in the document: codecs$"):
        area_results.main()
    document = (tmp_path / "results.md").read_text()
    assert document.index("as before") < document.index("new")


def test_a_refusal_is_shown_and_a_failure_is_none(monkeypatch):
    shown = area_results.run("area", "compressor", "--lanes", "3", may_be_refused=True)
    assert "$ cdma area compressor --lanes 3\ncdma: lanes is 3; it must be" in shown
    with pytest.raises(area_results.CommandFailed):
        area_results.run("area", "compressor", "--lanes", "3")


def test_each_part_says_what_was_measured():
    document = DOCUMENT.read_text()
    parts = re.split(r"<!-- area: [\w-]+ -->\n", document)[2:-1]
    assert parts
    for part in parts:
        assert re.search(r"^Measured at revision [0-9a-f]{7,}\.\n\n$", part, flags=re.MULTILINE), part[:60]
