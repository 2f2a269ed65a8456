"""Public names are imported on first use; type checkers and editors see the same names in the same places."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import resolve_name

import pytest

from tests.support.paths import ROOT

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
    homes = {name: resolve_name(home, package) for name, home in module._HOME.items()}
    assert _for_type_checkers(folder) == homes
    assert set(homes) == set(module.__all__)
    for name in homes:
        assert getattr(module, name) is not None
