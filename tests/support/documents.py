"""What tests take out of documents. A browser without a window, for tests of pages: Chromium of this machine, driven by
Playwright. TOML files as a user would write them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def blocks(document: Path, language: str = r"\w*") -> list[str]:
    """Returns the text of each fenced block of a document, of one ``language`` or of any, without the fences."""
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


#: What Chromium is called on different systems.
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """A running browser; the test is skipped where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (pip install playwright)"
    )
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("this machine has no Chromium (apt install chromium)")
    with playwright.sync_playwright() as driver:
        # Chromium refuses its sandbox to root, as whom tests run in containers.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        running = driver.chromium.launch(executable_path=path, args=arguments)
        try:
            yield running
        finally:
            running.close()


@contextmanager
def shown(running: Any, file: Path, width: int = 1280, height: int = 800, **options: Any) -> Iterator[Any]:
    """A page of that size with the file in it, when it is ready; an error in its script fails the test."""
    page = running.new_page(viewport={"width": width, "height": height}, **options)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.resolve().as_uri())
    page.wait_for_selector("body[data-ready]")
    page.focus("#canvas")
    yield page
    page.close()
    assert errors == []


#: A machine with a link of its own.
MACHINE = """
name = "mine"
link = {name = "short", GBps = 40.0}
[gpu]
tflops = 10
dram_GBps = 500
memory_GiB = 8
[engine]
units = 4
lanes = 8
clock_GHz = 1.5
read_GBps = 100
buffer_KB = 20
latency_ns = 300
"""


def written(tmp_path: Path, text: str) -> str:
    """The path of a file with that text."""
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)
