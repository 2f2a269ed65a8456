"""What the documents refer to exists: files and folders, headings, names of the package, commands and their options."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdma import app
from cdma.options import config_from
from tests.support.paths import DOCS, ROOT

DOCUMENTS = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FOLDERS = ("base", "hdl", "sim", "verif", "cli", "extras", "tests", "synth", "docs")

by_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def outside_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def paths_in(text: str) -> Iterator[str]:
    """Yields the paths in backticks that begin with a folder of the repository, and those of tables of files.

    A table whose first heading is "file in `FOLDER/`" names files of that folder in its first column.
    """
    folder: str | None = None
    for line in text.splitlines():
        heading = re.match(r"\| files? in `([^`]+/)` \|", line)
        if heading:
            folder = heading[1]
        elif not line.startswith("|"):
            folder = None
        elif folder is not None:
            yield from (folder + name for name in re.findall(r"`([^`]+)`", line.split("|")[1]))
        for span in re.findall(r"`([^`]+)`", line):
            yield from (word for word in span.split() if re.match(rf"({'|'.join(FOLDERS)})/", word))


def commands_in(text: str) -> list[list[str]]:
    """Returns the words of each ``cdma`` command that has a line of its own in a block, without its comment."""
    lines = re.findall(r"^(?: {4}|\$ )?(cdma \w.*)$", text, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines if not line.endswith("--help")]


def anchors(text: str) -> set[str]:
    """Returns the names under which places of a document can be linked to: its headings and explicit anchors."""
    headings = re.findall(r"^#+ (.*)$", outside_blocks(text), re.MULTILINE)
    derived = {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}
    return derived | set(re.findall(r'<a id="([^"]+)">', text))


@by_document
def test_paths_exist(document: Path) -> None:
    # An ellipsis, a star or a word in capitals stands for several files.
    missing = [
        path
        for path in paths_in(outside_blocks(document.read_text(encoding="utf-8")))
        if not any(ROOT.glob(re.sub(r"…|[A-Z]{3,}(?=[./_]|$)", "*", path.rstrip("/"))))
    ]
    assert not missing, missing


@by_document
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", outside_blocks(text)):
        if re.match(r"https?:", target):
            continue
        name, _, section = target.partition("#")
        file = document.parent / name if name else document
        assert file.exists(), target
        if section:
            assert section in anchors(file.read_text(encoding="utf-8")), target


@by_document
def test_names_of_the_package_exist(document: Path) -> None:
    for dotted in re.findall(r"\bcdma(?:\.[A-Za-z_]\w*)+", document.read_text(encoding="utf-8")):
        if re.fullmatch(r"cdma\.(h|v|vlt|ko|tensors)", dotted):
            continue
        module, names = "cdma", dotted.split(".")[1:]
        found = importlib.import_module(module)
        for name in names:
            module += f".{name}"
            if not hasattr(found, name):
                importlib.import_module(module)
            found = getattr(found, name)


@by_document
def test_commands_are_understood(document: Path) -> None:
    """Their options are there, and what they ask to generate can be."""
    parser = app.parser()
    for words in commands_in(document.read_text(encoding="utf-8")):
        arguments = parser.parse_args(words)
        if words[0] == "generate" and not {"--codec", "--config"} & {*words}:
            assert config_from(arguments).settings(), words
