"""Which pages the site has, and in which order. The folder that Sphinx reads: the documents as they are, with the links
that lead out of their folder changed. Builds the pages with Sphinx; a warning, such as a link that leads nowhere, is
an error.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sphinx.application import Sphinx

from cdma import __version__

from .reference import api_page, commands_page, files_page, parameters_page, registers_page, tests_page

#: The page that the others hang on: README.md, which is not in the folder of the documents.
HOME = "index"


@dataclass(frozen=True)
class Section:
    """A part of the site: its title, and its pages by the paths of their files without the ending."""

    title: str
    pages: tuple[str, ...]


#: Pages that are no documents of the repository, because they are made from the source, by the names of their files.
MADE: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "parameters.md": parameters_page,
    "registers.md": registers_page,
    "tests.md": tests_page,
    "files.md": files_page,
    "api.rst": api_page,
}

#: The pages of options of the engine.
OPTIONS = (
    *("alignment", "pages", "units", "pairs", "owners", "messages", "crc", "clocks", "power", "dram"),
    *("delta", "ports"),
)

#: The pages of documents of the repository's root.
OF_THE_ROOT = {"CHANGELOG.md": "changes", "SECURITY.md": "reporting"}

SECTIONS = (
    Section("Tutorial", ("tutorial",)),
    Section("How to", ("integration", "verilog", "driver", "linux", "litex", "how-to")),
    Section(
        "Reference",
        (
            *("commands", "parameters", "registers", "api", "engine", "format", "lossy", "deltas", "tiles", "gpu"),
            "glossary",
            *(f"options/{name}" for name in OPTIONS),
            *("security", "reporting", "changes"),
        ),
    ),
    Section("Explanation", ("architecture", "files", "verification", "tests")),
    Section("Measured", ("results", "options", "history")),
    Section(
        "Study",
        (
            "study/real",
            "figures/real",
            "study/formats",
            "study/training",
            "study/swapping",
            "study/profile",
            "study/model",
            *(f"figures/paper_{paper}" for paper in ("cdma", "vdnn", "cswap", "comet")),
            "study/characterisation",
            "study/codecs",
        ),
    ),
)  # fmt: skip


def documents() -> list[str]:
    """The pages that are documents of the repository."""
    made = {name.partition(".")[0] for name in MADE}
    return [
        page for section in SECTIONS for page in section.pages if page not in made | {*OF_THE_ROOT.values()}
    ]


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
    # A browser fetches no excerpts for pages that are files.
    "html_show_search_summary": False,
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


def _define(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Makes definitions of the entries of a docstring, which are names, a colon, and what they are."""
    entry = re.compile(r"^(\s*)((?:``\w+``(?:, )?)+): ")
    lines[:] = [part for line in lines for part in entry.sub(r"\1\2\n\1    ", line).split("\n")]


def render(sources: Path, output: Path, scratch: Path) -> None:
    """Makes pages of a folder of texts; ends the program where Sphinx warns of anything."""
    site = Sphinx(
        sources, None, output, scratch, "html", confoverrides=_SETTINGS, status=None, warningiserror=True
    )
    site.connect("autodoc-process-docstring", _define)
    site.build()
    if site.statuscode:
        raise SystemExit("the site has warnings, which are errors")
