"""The kernels in C, built from this tree for tests, whatever is installed."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sysconfig
from functools import cache
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

from .paths import ROOT

__all__ = ["SOURCE", "build", "compiler", "include_options", "load"]

SOURCE = ROOT / "sim" / "codec" / "native.c"


def compiler() -> str | None:
    """The C compiler of this machine, if it has one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def include_options() -> list[str]:
    """Where the headers of Python are."""
    paths = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    return [f"-I{path}" for path in sorted(paths)]


@cache
def build(*options: str) -> Path:
    """Builds the module with more ``options`` than usual, or takes the one that was built from the same text."""
    text = b"".join(path.read_bytes() for path in sorted(SOURCE.parent.glob("native*.[ch]")))
    key = hashlib.sha256(text + " ".join(options).encode()).hexdigest()[:16]
    made = ROOT / "build" / "native" / key / "_native.abi3.so"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        partial = made.with_suffix(f".{os.getpid()}")
        command = [str(compiler()), "-std=c11", "-O3", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run([*command, *options, *include_options(), str(SOURCE), "-o", str(partial)], check=True)
        partial.replace(made)
    return made


@cache
def load(path: Path) -> ModuleType:
    """Loads a module that :func:`build` made."""
    loader = ExtensionFileLoader("_native", str(path))
    spec = importlib.util.spec_from_file_location("_native", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
