"""The driver for Linux, as far as it can be tried without a kernel that runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cdma import __version__
from tests.support.documents import blocks
from tests.support.paths import DOCS, MODULE

_SOURCES = sorted(MODULE.rglob("*.[ch]"))
#: What programs include, and the C driver.
_FREE = ("libcdma.h", "cdma.h", "cdma_regs.h")


#: What the modules of each of Debian's kernels here are built with.
_HEADERS = [path.parent for path in sorted(Path("/lib/modules").glob("*/build/Makefile"))]


@pytest.mark.slow
@pytest.mark.parametrize("build", _HEADERS or [None], ids=lambda build: build and build.parent.name)
def test_the_module_compiles_without_a_warning(tmp_path: Path, build: Path | None) -> None:
    if build is None or shutil.which("make") is None or shutil.which("gcc") is None:
        pytest.skip("the headers of no kernel are installed here (on Debian apt install linux-headers-amd64)")
    sources = _made(tmp_path, "dkms") / "usr/src" / f"cdma-{__version__}"
    # With sparse, too, where it is installed.
    check = ["C=1"] if shutil.which("sparse") else []
    command = ["make", "-C", sources, f"BUILD={build}", "W=1", *check]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    assert (sources / "cdma.ko").exists()


def _made(root: Path, target: str) -> Path:
    """A root into which the driver's Makefile has put something."""
    subprocess.run(
        ["make", "-C", MODULE, target, f"DESTDIR={root}", "PREFIX=/usr"], check=True, capture_output=True
    )
    return root


def test_an_installation_has_the_headers_the_rule_the_page_and_what_pkg_config_reads(tmp_path: Path) -> None:
    root = _made(tmp_path, "install-files")
    assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == {
        *(f"usr/include/cdma/{name}" for name in ("cdma_ioctl.h", "cdma_regs.h", "libcdma.h")),
        "usr/lib/pkgconfig/libcdma.pc",
        "usr/share/man/man4/cdma.4",
        "lib/udev/rules.d/70-cdma.rules",
    }
    found = (root / "usr/lib/pkgconfig/libcdma.pc").read_text()
    assert "prefix=/usr\n" in found
    assert f"Version: {__version__}\n" in found
    assert "@" not in found
    # The headers need no others than the system's.
    program = "#include <cdma_ioctl.h>\n#include <libcdma.h>\nint main(void) { return 0; }\n"
    command = ["gcc", "-Werror", f"-I{root / 'usr/include/cdma'}", "-fsyntax-only", "-xc", "-"]
    subprocess.run(command, input=program, text=True, check=True)


def test_what_describes_the_driver_has_its_version_its_parameters_and_its_files() -> None:
    told = {name: (MODULE / name).read_text() for name in ("Makefile", "dkms.conf", "cdma.4", "engine.c")}
    assert all(__version__ in text for text in told.values())
    parameters = re.findall(
        r"^module_param\((\w+),", "".join(path.read_text() for path in _SOURCES), re.MULTILINE
    )
    assert len(parameters) > 4
    for text in (told["cdma.4"], (DOCS / "linux.md").read_text()):
        assert all(name in text for name in parameters)
    shown = (MODULE / "show.c").read_text()
    facts = re.findall(r"\bCDMA_FACT\((\w+)\),", shown)
    counters = re.findall(r"\bCDMA_COUNTER\((\w+), CDMA_OFFLOAD", shown)
    assert len(facts) > 15
    assert len(counters) == 7
    interface = (MODULE / "sysfs-class-misc-cdma").read_text()
    assert set(re.findall(r"\w+", interface)) >= {*facts, *counters}


def test_every_file_of_the_module_says_its_licence() -> None:
    assert len(_SOURCES) > 6
    for path in (*_SOURCES, *(MODULE / name for name in ("Kbuild", "Kconfig", "Makefile"))):
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
