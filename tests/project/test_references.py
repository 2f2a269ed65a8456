"""Public names are imported on first use; type checkers and editors see the same names in the same places. What
docstrings, comments and strings of the source name exists: modules, names in them, and files. The types, checked
beside the other tests: mypy takes longer than any of these, and one core.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import resolve_name

import pytest

from tests.support.imports import modules_in
from tests.support.paths import PACKAGES, ROOT

#: The packages with public names, and their folders.
_PACKAGES = {
    "cdma": "cli",
    "cdma.hdl": "hdl",
    "cdma.sim": "sim",
    "cdma.sim.engine.driver": "sim/engine/driver",
    "cdma.study": "extras/study",
    "cdma_linux": "extras/linux/cdma_linux",
}


def _for_type_checkers(folder: str) -> dict[str, str]:
    """The names that are imported where only a type checker looks, and the modules that they come from."""
    tree = ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.name: str(node.module)
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize(("package", "folder"), _PACKAGES.items())
def test_editors_see_what_programs_get(package: str, folder: str) -> None:
    module = import_module(package)
    homes = {
        name: resolve_name(home, package) for home, names in module._HOMES.items() for name in names.split()
    }
    assert _for_type_checkers(folder) == homes
    assert set(homes) == set(module.__all__)
    for name in homes:
        assert getattr(module, name) is not None


MODULES = modules_in(ROOT, PACKAGES)
SOURCES = [
    *MODULES.values(),
    *modules_in(ROOT, {"tests/support": "tests.support", "docs": "docs"}).values(),
    "tests/same_output.py",
    "setup.py",
    "pyproject.toml",
    "Makefile",
    ".ci/run",
]

#: As in ``cdma.hdl.spec.format.Format``, or with a colon before what is loaded by its name.
_NAME = re.compile(r"(?<![\w/.])cdma(?:\.[A-Za-z_]\w*)+(?::[A-Za-z_]\w*)?")
_FILE = re.compile(
    r"(?<![\w/.-])(?:cli|hdl|sim|verif|synth|extras|tests|docs)/[\w/]+\.(?:py|md|toml|svg|json|npz|vlt|h|c)\b"
)


@cache
def _names_in(file: str) -> frozenset[str]:
    """Returns the names that a module defines, imports, or has in a string."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return frozenset(found)


def exists(name: str) -> bool:
    """Returns whether a dotted name is a module, a data file of a package, or a name in a module."""
    module, rest = name.replace(":", "."), ""
    while module not in MODULES:
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}".rstrip(".")
    file = ROOT / MODULES[module]
    # A module in C is known by the description of its types.
    files = (file.parent / rest, file.parent / f"{rest}.pyi")
    return (
        not rest
        or rest.partition(".")[0] in _names_in(MODULES[module])
        or any(path.is_file() for path in files)
    )


def broken(text: str) -> Iterator[str]:
    """Yields the names and files in ``text`` that do not exist."""
    for name in _NAME.findall(text):
        # Files that the generators write, and a group of entry points.
        if not re.fullmatch(r"cdma\.(h|v|vlt|core|ko|tensors)", name) and not exists(name):
            yield name
    for path in _FILE.findall(text):
        if not (ROOT / path).exists():
            yield path


def test_every_name_in_the_source_exists() -> None:
    found = {
        file: missing
        for file in SOURCES
        if (missing := sorted(set(broken((ROOT / file).read_text(encoding="utf-8")))))
    }
    assert found == {}


def test_mypy_has_no_complaint() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
