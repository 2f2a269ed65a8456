"""Builds the pages with Sphinx; a warning, such as a link that leads nowhere, is an error."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from sphinx.application import Sphinx

from cdma import __version__

from .layout import HOME
from .search import embed_texts
from .sources import write_sources

__all__ = ["build", "render", "strangers"]

_SETTINGS: dict[str, object] = {
    "project": "cDMA",
    "html_title": f"cDMA {__version__}",
    "copyright": "",
    "release": __version__,
    "extensions": ["myst_parser", "sphinx.ext.autodoc"],
    "root_doc": HOME,
    "html_theme": "furo",
    "html_show_sourcelink": False,
    "html_copy_source": False,
    "html_show_copyright": False,
    # Links to headings, named as Git hosts name them.
    "myst_heading_anchors": 4,
    "myst_enable_extensions": ["deflist"],
    "suppress_warnings": ["myst.header"],
    "autodoc_member_order": "bysource",
    "autodoc_typehints": "signature",
    "python_use_unqualified_type_names": True,
    # Blocks without a language are drawings and layouts, not Python.
    "highlight_language": "none",
}


def build(output: Path) -> None:
    """Writes the site into a folder."""
    with tempfile.TemporaryDirectory(prefix="cdma-site-") as scratch:
        sources = Path(scratch) / "sources"
        sources.mkdir()
        write_sources(sources)
        render(sources, output, Path(scratch) / "doctrees")
    embed_texts(output)


def render(sources: Path, output: Path, scratch: Path) -> None:
    """Makes pages of a folder of texts; ends the program where Sphinx warns of anything."""
    site = Sphinx(
        sources,
        None,
        output,
        scratch,
        "html",
        confoverrides=_SETTINGS,
        status=None,
        warningiserror=True,
    )
    site.build()
    if site.statuscode:
        raise SystemExit("the site has warnings, which are errors")


def strangers(site: Path) -> list[str]:
    """What pages would load from elsewhere when one reads them: scripts, styles, fonts and pictures of a network."""
    found = []
    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"([^\"]+)\"", text)
        loaded += re.findall(r"<link[^>]*rel=\"(?:stylesheet|preload|icon)\"[^>]*href=\"([^\"]+)\"", text)
        found += [f"{page.name}: {address}" for address in loaded if re.match(r"(?:https?:)?//", address)]
    for sheet in sorted(site.rglob("*.css")):
        loaded = re.findall(
            r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", sheet.read_text(encoding="utf-8")
        )
        found += [f"{sheet.name}: {address}" for address in loaded]
    return found
