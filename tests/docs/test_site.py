"""The site has every document, builds without a network, loads nothing from one, and refuses a link that leads nowhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site.build import documents
from docs.site.reference.parameters import meanings
from tests.support.documents import browser
from tests.support.paths import DOCS, ROOT

sphinx = pytest.importorskip("sphinx")

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


@pytest.mark.slow
def test_the_search_shows_texts_of_pages_that_are_files(site: Path) -> None:
    with browser() as running:
        page = running.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{(site / 'search.html').as_uri()}?q=secded")
        page.wait_for_selector("#search-results .context")
        page.wait_for_function("document.querySelector('.search-summary').innerText.includes('finished')")
        results = page.locator("#search-results li")
        excerpts = [result.inner_text().lower() for result in results.all()]
    assert excerpts
    # Titles of the pages found do not have the word; the texts below them do.
    assert all("secded" in excerpt for excerpt in excerpts)
    assert errors == []


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


def test_loads_from_other_sites_are_found(tmp_path: Path) -> None:
    from docs.site.build import strangers

    (tmp_path / "a.html").write_text('<script src="x.js"></script><img src="https://a.org/b.png">')
    (tmp_path / "a.css").write_text("@import url(//fonts.org/c.css);")
    assert strangers(tmp_path) == ["a.html: https://a.org/b.png", "a.css: //fonts.org/c.css"]


def test_meanings_come_from_the_docstring() -> None:
    class Some:
        """A thing.

        ``one``, ``two``
            Of :class:`Some` kind,
            in ``code``.
        """

    assert meanings(Some) == dict.fromkeys(("one", "two"), "Of `Some` kind, in `code`.")
