"""The folder that Sphinx reads: the documents as they are, with the links that lead out of their folder changed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from .layout import HOME, MADE, OF_THE_ROOT, SECTIONS, documents

__all__ = ["ROOT", "write_sources"]

ROOT = Path(__file__).resolve().parents[2]
_DOCS = ROOT / "docs"
#: What documents show and link to.
_SHOWN = (".svg", ".json", ".png")


def write_sources(place: Path) -> None:
    """Writes all that the pages are made from into a folder that does not exist yet."""
    files = [_DOCS / f"{page}.md" for page in documents()]
    for path in [*files, *(path for ending in _SHOWN for path in _DOCS.rglob(f"*{ending}"))]:
        copy = place / path.relative_to(_DOCS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".png":
            shutil.copyfile(path, copy)
        else:
            copy.write_text(_with_targets(path.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copyfile(ROOT / "LICENSE", place / "LICENSE")
    (place / f"{HOME}.md").write_text(_of_the_root("README.md") + _contents(), encoding="utf-8")
    for name, page in OF_THE_ROOT.items():
        (place / f"{page}.md").write_text(_of_the_root(name), encoding="utf-8")
    for name, page in MADE.items():
        (place / name).write_text(_with_targets(page()), encoding="utf-8")


def _with_targets(text: str) -> str:
    """A text with the places that have names of their own written as Sphinx reads them, and with links to pages."""
    for name, page in OF_THE_ROOT.items():
        text = text.replace(f"](../{name})", f"]({page}.md)")
    return re.sub(r'^<a id="([^"]+)"></a>$', r"(\1)=", text, flags=re.MULTILINE)


def _of_the_root(name: str) -> str:
    """A document of the repository's root with its links as they are from the folder of the others."""
    return (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")


def _contents() -> str:
    """The tables of contents that make the pages a tree; the page itself does not show them."""
    parts = [
        "\n```{toctree}\n:hidden:\n:caption: Start here\n\nWhat it is <self>\n```\n",
        *(
            "\n```{toctree}\n:hidden:\n:caption: " + section.title + "\n\n" + "\n".join(section.pages) + "\n```\n"
            for section in SECTIONS
        ),
    ]  # fmt: skip
    return "".join(parts)
