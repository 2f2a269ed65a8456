"""Which pages the site has, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HOME", "MADE", "SECTIONS", "Section", "documents"]

#: The page that the others hang on: README.md, which is not in the folder of the documents.
HOME = "index"


@dataclass(frozen=True)
class Section:
    """A part of the site: its title, and its pages by the paths of their files without the ending."""

    title: str
    pages: tuple[str, ...]


#: Pages that no document of the repository has: they are made from the source.
MADE = ("commands", "parameters", "api")

SECTIONS = (
    Section("Tutorial", ("tutorial",)),
    Section("How to", ("integration", "driver", "litex", "formats", "profile", "model", "how-to")),
    Section(
        "Reference",
        ("commands", "parameters", "registers", "api", "engine", "format", "lossy", "testplan", "changes"),
    ),
    Section("Explanation", ("architecture", "verification", "codecs")),
    Section("Measured", ("results", "history", "characterisation", "figures/model")),
)  # fmt: skip


def documents() -> list[str]:
    """The pages that are documents of the repository."""
    return [page for section in SECTIONS for page in section.pages if page not in (*MADE, "changes")]
