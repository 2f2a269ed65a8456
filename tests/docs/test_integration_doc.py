"""What docs/integration.md shows: its settings are accepted, its instantiation has the ports, its list names the files."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from cdma.app import parser
from cdma.hdl.deliver.languages import LANGUAGES
from cdma.options import codec_config_from
from cdma.verif.engine.design import EngineDesign
from tests.support.commands import Shown
from tests.support.documents import blocks
from tests.support.paths import DOCS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def block(language: str, mark: str) -> str:
    """Returns the one block that contains ``mark``."""
    (chosen,) = (text for text in blocks(DOCS / "integration.md", language) if mark in text)
    return chosen


def test_the_settings_are_accepted(tmp_path: Path) -> None:
    settings = block("toml", "codec.toml")
    config = tmp_path / "codec.toml"
    config.write_text(settings)
    parsed = parser().parse_args(["generate", "compressor", "--config", str(config)])
    assert codec_config_from(parsed).settings().items() >= tomllib.loads(settings).items()


@pytest.mark.slow
@pytest.mark.usefixtures("generated_once")
def test_the_folder_has_the_files_that_the_page_lists(tmp_path: Path, shown: Shown) -> None:
    section = (
        (DOCS / "integration.md")
        .read_text(encoding="utf-8")
        .partition("## The folder\n")[2]
        .partition("\n## ")[0]
    )
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = {name for cell in cells for name in re.findall(r"`(.+?)`", cell)}
    options = EngineDesign().options().split()
    written = set()
    for language in LANGUAGES:
        asked = ["--language", language, *options, "--json", "-o", str(tmp_path / language)]
        files = json.loads(shown("generate", "engine", *asked))["files"]
        written |= {Path(file).name.replace("cdma_engine", "NAME") for file in files}
    assert {name for name in written if not name.endswith(".svg")} == listed
