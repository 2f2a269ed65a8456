"""Says how much there is to hold in one's head: lines, rooms, arrows between them, and files that name an option.

    python -m tests.weight                  # this checkout
    python -m tests.weight --base HEAD~10   # beside a revision of its history

Lines are those of Python, but for documents. A file is one of Python that is no ``__init__.py``. A room is a folder, two
deep, that has a file; an arrow says that files of one room import from another. The core is what lies outside of
``extras/``. A condition at elaboration is an ``if``, a conditional expression or the filter of a comprehension in hardware.
A file names an option of a configuration where its name stands in it as a word, in code or text.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.support.imports import imports_of, modules_in
from tests.support.paths import PACKAGES, ROOT

#: The classes whose fields are options, each with its file.
_CONFIGS = {"CodecConfig": "hdl/spec/codec.py", "EngineConfig": "hdl/spec/engine.py"}

#: What is elaborated; and what stands for conditions there.
_HARDWARE = ("hdl/axi", "hdl/blocks", "hdl/codec", "hdl/engine")
_IN_PLACE = ("optional", "Pace")

#: Documents that scripts write, and the history of versions.
_NOT_WRITTEN = ("docs/figures/", "docs/registers.md", "docs/testplan.md", "CHANGELOG.md")


def weight(root: Path) -> dict[str, int]:
    """Every count of the checkout ``root``, by what it counts."""
    modules = modules_in(root, PACKAGES)
    product = [*modules.values(), *_files(root, "docs/**/*.py")]
    lines = Counter[str]()
    for file in product:
        lines[_room(file)] += _lines(root, file)
    files = [file for file in product if not file.endswith("__init__.py")]
    tests = [file for file in _files(root, "tests/**/*.py") if not file.endswith("__init__.py")]
    rooms = {_room(file) for file in files if not file.startswith("docs/")}
    arrows = {
        (_room(item.file), _room(item.target))
        for item in imports_of(root, modules)
        if "/" in item.target and _room(item.file) != _room(item.target)
    }
    arrows = {(source, target) for source, target in arrows if {source, target} <= rooms}
    written = [file for file in _files(root, "**/*.md") if not file.startswith(_NOT_WRITTEN)]
    return {
        "lines: product": lines.total(),
        "lines: core": sum(count for room, count in lines.items() if _of_core(room)),
        "lines: tests": _lines(root, *_files(root, "tests/**/*.py")),
        "lines: documents, written": _lines(root, *written),
        "files: product": len(files),
        "files: tests": len(tests),
        "lines: a file of the product": round(_lines(root, *files) / max(len(files), 1)),
        "rooms": len(rooms),
        "rooms: core": sum(map(_of_core, rooms)),
        "arrows": len(arrows),
        "arrows: core": sum(_of_core(source) for source, _ in arrows),
        **_conditions(root, [file for file in files if _room(file) in _HARDWARE]),
        **{f"lines: {room}": lines[room] for room in sorted(lines)},
        **{f"files that name {name}": count for name, count in _named(root, product)},
    }


def _conditions(root: Path, files: Sequence[str]) -> dict[str, int]:
    """The conditions at elaboration in these files, the most in one of them, and the calls in their place."""
    found, calls = Counter[str](), 0
    for file in files:
        for node in ast.walk(ast.parse((root / file).read_text(encoding="utf-8"))):
            found[file] += isinstance(node, ast.If | ast.IfExp)
            found[file] += len(node.ifs) if isinstance(node, ast.comprehension) else 0
            calls += isinstance(node, ast.Call) and ast.unparse(node.func) in _IN_PLACE
    return {
        "conditions at elaboration": found.total(),
        "conditions in one file, at most": max(found.values(), default=0),
        f"calls of {' and '.join(_IN_PLACE)}": calls,
    }


def _files(root: Path, pattern: str) -> list[str]:
    """The files of a pattern, without those of folders that tools make."""
    found = (path.relative_to(root) for path in sorted(root.glob(pattern)))
    return [path.as_posix() for path in found if not path.parts[0].startswith((".", "build", "dist"))]


def _lines(root: Path, *files: str) -> int:
    return sum((root / file).read_bytes().count(b"\n") for file in files)


def _of_core(room: str) -> bool:
    return not room.startswith("extras/")


def _room(file: str) -> str:
    return "/".join(Path(file).parent.parts[:2])


def _named(root: Path, files: Sequence[str]) -> list[tuple[str, int]]:
    """How many files name each option; the most first."""
    words = [set(re.findall(r"\w+", (root / file).read_text(encoding="utf-8"))) for file in files]
    names = {name for kind, file in _CONFIGS.items() for name in _fields(root / file, kind)}
    return Counter({name: sum(name in each for each in words) for name in names}).most_common()


def _fields(path: Path, kind: str) -> list[str]:
    """The fields of a class, read from the source."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) and node.name == kind:
            return [ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)]
    return []


def weight_of(root: Path, revision: str) -> dict[str, int]:
    """The counts of a revision of the checkout ``root``."""
    archive = subprocess.run(
        ["git", "-C", str(root), "archive", revision], stdout=subprocess.PIPE, check=True
    )
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        return weight(Path(folder))


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Runs the command line on the checkout ``root``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", metavar="REVISION", help="a revision to count beside this checkout")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    arguments = parser.parse_args(argv)
    counts = {"now": weight(root)}
    if arguments.base:
        counts = {arguments.base: weight_of(root, arguments.base), **counts}
    if arguments.json:
        print(json.dumps(counts, indent=1))
        return 0
    print("".join(f"{title[:9]:>10}" for title in counts))
    for name in dict.fromkeys(name for each in counts.values() for name in each):
        print("".join(f"{each.get(name, 0):>10,}" for each in counts.values()), "", name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
