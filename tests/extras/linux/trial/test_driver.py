"""The driver for Linux, as far as it can be tried without a kernel that runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.documents import blocks
from tests.support.paths import DOCS, MODULE

_SOURCES = sorted(MODULE.rglob("*.[ch]"))
#: What programs include, and the C driver.
_FREE = ("libcdma.h", "cdma.h", "cdma_regs.h")


def _headers() -> Path | None:
    """What the modules of Debian's newest kernel here are built with."""
    return max(Path("/lib/modules").glob("*/build/Makefile"), default=None)


@pytest.mark.slow
def test_the_module_compiles_without_a_warning(tmp_path: Path) -> None:
    makefile = _headers()
    if makefile is None or shutil.which("make") is None or shutil.which("gcc") is None:
        pytest.skip("the headers of no kernel are installed here (on Debian apt install linux-headers-amd64)")
    shutil.copytree(MODULE, tmp_path / "module")
    # With sparse, too, where it is installed.
    check = ["C=1"] if shutil.which("sparse") else []
    command = ["make", "-C", makefile.parent, f"M={tmp_path / 'module'}", "W=1", *check, "modules"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    assert (tmp_path / "module" / "cdma.ko").exists()


def test_every_file_of_the_module_says_its_licence() -> None:
    assert len(_SOURCES) > 6
    for path in (*_SOURCES, MODULE / "Kbuild"):
        text = path.read_text()
        if path.name in _FREE:
            assert "GPL" not in text
        else:
            assert "SPDX-License-Identifier: GPL-2.0" in text.splitlines()[0], path
    assert 'MODULE_LICENSE("GPL")' in (MODULE / "engine.c").read_text()


@pytest.mark.parametrize("standard", ["c99", "c11"])
def test_the_program_of_the_document_compiles_without_a_warning(tmp_path: Path, standard: str) -> None:
    program = tmp_path / "program.c"
    program.write_text("\n".join(blocks(DOCS / "linux.md", "c")))
    command = [
        "gcc",
        f"-std={standard}",
        "-D_XOPEN_SOURCE=700",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-Wno-unused-function",
        f"-I{MODULE}",
    ]
    done = subprocess.run([*command, "-fsyntax-only", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_binding_of_the_device_tree_is_what_the_driver_looks_for() -> None:
    binding = (MODULE / "cdma,engine.yaml").read_text()
    source = (MODULE / "platform.c").read_text()
    (compatible,) = re.findall(r"const: (cdma,\w+)", binding)
    assert f'.compatible = "{compatible}"' in source
    assert f'compatible = "{compatible}";' in binding
    for name in ("registers", "memory"):
        assert f"      - const: {name}\n" in binding
        assert f'(pdev, "{name}")' in source or f'MEM, "{name}")' in source
