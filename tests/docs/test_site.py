"""The site has every document, builds without a network, loads nothing from one, and refuses a link that leads nowhere.
What a release is made of: the notes of its version, and archives that are the same whenever their files are. The
picture of the page of a run, which README and tutorial show, is small, and its script takes it again.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cdma import __version__
from cdma.app import parser
from cdma.streams import commands_of
from docs.draw_page import PICTURE, draw
from docs.release import BLOCKS, notes, pack
from docs.site.build import documents
from docs.site.reference import meanings
from tests.support.paths import DOCS, ROOT

#: Runs the module of the command line where nothing can be connected to.
_OFFLINE = """
import runpy, socket, sys
def refuse(*_): raise OSError("no network")
socket.socket.connect = socket.getaddrinfo = refuse
runpy.run_module("docs.site", run_name="__main__")
"""


def _python(code: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    done = _python(_OFFLINE, "-o", place)
    assert (done.returncode, done.stderr) == (0, "")
    return place


@pytest.mark.slow
def test_the_pages(site: Path) -> None:
    pages = {page: (site / f"{page}.html").read_text(encoding="utf-8") for page in documents()}
    assert 'id="the-path-of-a-tensor"' in pages["architecture"]
    commands = (site / "commands.html").read_text(encoding="utf-8")
    assert "cdma bench software" in commands
    assert "--register-slices PORTS" in commands
    parameters = (site / "parameters.html").read_text(encoding="utf-8")
    assert all(name in parameters for name in ("EngineConfig", "stripe_bytes", "keep_nonzero"))
    registers = (site / "registers.html").read_text(encoding="utf-8")
    assert "engine.ident" in registers
    tests = (site / "tests.html").read_text(encoding="utf-8")
    assert all(name in tests for name in ("ring_wrap", "butterfly_concentrate"))
    assert "cdma.hdl.Compressor" in (site / "api.html").read_text(encoding="utf-8")
    # The search works on files, from an index in a script, and themes change without a network.
    assert (site / "searchindex.js").read_text(encoding="utf-8").startswith("Search.setIndex(")
    index = (site / "index.html").read_text(encoding="utf-8")
    assert "theme-toggle" in index
    titles = re.findall(r'<span class="caption-text">([^<]+)</span>', index)
    assert titles == ["Start here", "Tutorial", "How to", "Reference", "Explanation", "Measured", "Study"]


def loaded(page: Path) -> list[str]:
    """What a page or a sheet would load when one reads it: scripts, styles, fonts and pictures."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".css":
        return re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", text)
    found: list[str] = re.findall(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"([^\"]+)\"", text)
    return found + re.findall(r"<link[^>]*rel=\"(?:stylesheet|preload|icon)\"[^>]*href=\"([^\"]+)\"", text)


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = [page for page in site.rglob("*") if page.suffix in (".html", ".css")]
    found = {
        page.name: [each for each in loaded(page) if re.match(r"(?:https?:)?//", each)] for page in pages
    }
    assert not any(found.values()), found
    assert any(map(loaded, pages))


def test_every_document_is_a_page() -> None:
    found = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")}
    # Tables of sweeps stand beside their figures.
    assert {name for name in found if not name.endswith("-sweep")} == set(documents())


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "index.md").write_text("# One\n\n[two](other.md#gone)\n\n```{toctree}\nother\n```\n")
    (sources / "other.md").write_text("# Two\n\n## There\n")
    code = "import sys; from pathlib import Path; from docs.site.build import render; render(*map(Path, sys.argv[1:]))"
    done = _python(code, sources, tmp_path / "out", tmp_path / "scratch")
    assert done.returncode
    assert "gone" in done.stderr


def test_meanings_come_from_the_docstring() -> None:
    class Some:
        """A thing.

        ``one``, ``two``: Of :class:`Some` kind,
            in ``code``.
        """

    assert meanings(Some) == dict.fromkeys(("one", "two"), "Of `Some` kind, in `code`.")


_CHANGES = "# Changes\n\n## Unreleased\n\n## 1.2.0 (a day)\n\n- One.\n\n## 1.2\n\n- Two.\n"


@pytest.mark.parametrize(("version", "said"), [("1.2.0", "- One."), ("1.2", "- Two.")])
def test_the_notes_are_those_of_the_version(version: str, said: str) -> None:
    assert notes(_CHANGES, version).endswith(f"\n\n{said}\n")


@pytest.mark.parametrize(("changes", "version"), [(_CHANGES, "1.3"), (_CHANGES.replace("- Two.", ""), "1.2")])
def test_a_version_without_notes_is_refused(changes: str, version: str) -> None:
    with pytest.raises(SystemExit, match="has no section"):
        notes(changes, version)


def test_this_version_has_notes() -> None:
    assert notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), __version__)


def test_the_driver_for_linux_has_the_version_of_all() -> None:
    project = (ROOT / "extras" / "linux" / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{__version__}"\n' in project


def test_every_block_is_in_it() -> None:
    names = {command.prog.split()[-1] for command in commands_of(parser()) if " generate " in command.prog}
    assert names == set(BLOCKS)


def test_archives_are_reproducible(tmp_path: Path) -> None:
    archives = []
    for order in ("ab", "ba"):
        folder = tmp_path / order
        (folder / "in").mkdir(parents=True)
        for name in order:
            (folder / "in" / name).write_text(name)
        (tmp_path / f"{order}.d").mkdir()
        archives.append(tmp_path / f"{order}.d" / "x-1.zip")
        pack(folder, archives[-1])
    assert archives[0].read_bytes() == archives[1].read_bytes()
    assert zipfile.ZipFile(archives[0]).namelist() == ["x-1/in/a", "x-1/in/b"]


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height in the header of a PNG."""
    head = picture.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_the_picture_is_small_and_shown() -> None:
    assert PICTURE.stat().st_size <= 150_000
    assert "](docs/wave-page.png)" in (ROOT / "README.md").read_text()
    assert "](wave-page.png)" in (DOCS / "tutorial.md").read_text()


@pytest.mark.thorough
@pytest.mark.verilator
@pytest.mark.slow
def test_the_script_takes_it(tmp_path: Path) -> None:
    draw(tmp_path / "page.png")
    assert size_of(tmp_path / "page.png") == size_of(PICTURE)
