"""Which pages the site has, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .reference.api import api_page
from .reference.commands import commands_page
from .reference.files import files_page
from .reference.parameters import parameters_page
from .reference.registers import registers_page
from .reference.tests import tests_page

__all__ = ["HOME", "MADE", "OF_THE_ROOT", "SECTIONS", "Section", "documents"]

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
OPTIONS = ("alignment", "pages", "units", "pairs", "owners", "messages", "crc", "clocks", "power", "ports")

#: The pages of documents of the repository's root.
OF_THE_ROOT = {"CHANGELOG.md": "changes", "SECURITY.md": "reporting"}

SECTIONS = (
    Section("Tutorial", ("tutorial",)),
    Section("How to", ("integration", "verilog", "driver", "linux", "litex", "how-to")),
    Section(
        "Reference",
        (
            *("commands", "parameters", "registers", "api", "engine", "format", "lossy", "tiles", "gpu", "glossary"),
            *(f"options/{name}" for name in OPTIONS),
            *("security", "reporting", "changes"),
        ),
    ),
    Section("Explanation", ("architecture", "files", "verification", "tests")),
    Section("Measured", ("results", "options", "history")),
    Section(
        "Study",
        (
            "study/formats",
            "study/training",
            "study/swapping",
            "study/profile",
            "study/model",
            "figures/model",
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
