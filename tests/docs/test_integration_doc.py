"""What docs/integration.md shows: its settings are accepted, its instantiation has the ports, its list names the files."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from cdma.app import main
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
    assert tomllib.loads(settings)["values"]
    config = tmp_path / "codec.toml"
    config.write_text(settings)
    assert main(["generate", "compressor", "--config", str(config), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "cdma_compressor.v").exists()


def test_the_instantiation_has_the_ports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "compressor", "--json", "-o", str(tmp_path)]) == 0
    ports = json.loads(capsys.readouterr().out)["ports"]
    shown = re.findall(r"^ +\.(\w+) ", block("verilog", "compressor_0"), re.MULTILINE)
    assert sorted(shown) == sorted(ports)


def test_the_folder_has_the_files_that_the_page_lists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    section = (
        (DOCS / "integration.md")
        .read_text(encoding="utf-8")
        .partition("## The folder\n")[2]
        .partition("\n## ")[0]
    )
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = {name for cell in cells for name in re.findall(r"`(.+?)`", cell)}
    options = ["--latency", "16", "--descriptors", "2", "--ring-entries", "16"]
    assert main(["generate", "engine", "--name", "NAME", *options, "--json", "-o", str(tmp_path)]) == 0
    written = {Path(file).name for file in json.loads(capsys.readouterr().out)["files"]}
    assert {name for name in written if not name.endswith(".svg")} == listed
