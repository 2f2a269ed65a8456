"""Who imports what, read from the source of the package: for the test that holds the rooms apart."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Import:
    """One name that an import statement brings into a file."""

    file: str
    line: int
    #: What is imported: a file below the root, or the name of a library outside of the package.
    target: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.target}"


def modules_in(root: Path, folders: Mapping[str, str]) -> dict[str, str]:
    """Returns the file of every module below ``root``, by the module's dotted name.

    ``folders`` maps each folder to the package that it is.
    """
    found = {}
    for folder, package in folders.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            if parts[-1] == "__init__":
                parts = parts[:-1]
            found[".".join([package, *parts])] = path.relative_to(root).as_posix()
    return found


def imports_of(root: Path, modules: Mapping[str, str]) -> list[Import]:
    """Returns every import of the given modules, except those of Python's standard library.

    Imports inside functions and under ``TYPE_CHECKING`` count like any other. An import by name, as
    ``importlib.import_module`` does it, is not seen.
    """
    own = {module.partition(".")[0] for module in modules}
    found = []
    for module, file in modules.items():
        package = module if file.endswith("__init__.py") else module.rpartition(".")[0]
        for line, name in _names(ast.parse((root / file).read_text(encoding="utf-8")), package):
            library = name.partition(".")[0]
            if library not in own:
                if library not in sys.stdlib_module_names:
                    found.append(Import(file, line, library))
                continue
            # `from package import name` names a module, or something that the package defines.
            while name not in modules:
                name, dot, _ = name.rpartition(".")
                assert dot, f"{file}:{line} imports {library}, which has no file"
            if modules[name] != file:
                found.append(Import(file, line, modules[name]))
    return sorted(found, key=lambda item: (item.file, item.line, item.target))


def _names(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yields the line and the full dotted name of everything that a module of ``package`` imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"


def room_of(file: str, rooms: Collection[str]) -> str | None:
    """Returns the innermost of ``rooms``, which are folders, that contains ``file``."""
    return next((folder.as_posix() for folder in Path(file).parents if folder.as_posix() in rooms), None)


def circles(imports: Collection[Import]) -> list[list[str]]:
    """Returns each group of files that import one another in a circle, in alphabetical order."""
    ahead: dict[str, set[str]] = {}
    for item in imports:
        ahead.setdefault(item.file, set()).add(item.target)
    reached = {file: _reachable(file, ahead) for file in ahead}
    groups = {
        tuple(sorted(other for other in seen if file in reached.get(other, ())))
        for file, seen in reached.items()
    }
    return sorted(list(group) for group in groups if group)


def _reachable(start: str, ahead: Mapping[str, Collection[str]]) -> set[str]:
    """Returns the files that ``start`` imports, directly or through others."""
    seen: set[str] = set()
    waiting = list(ahead[start])
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += ahead.get(file, ())
    return seen
