"""The wheel, built from a copy of the sources."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.support.paths import PACKAGES, ROOT

__all__ = ["SOURCES", "built_wheel"]

#: What the wheel is built of.
SOURCES = (
    *sorted({folder.partition("/")[0] for folder in PACKAGES}),
    "docs",
    "pyproject.toml",
    "setup.py",
    "LICENSE",
    "README.md",
    "SECURITY.md",
)


def built_wheel(place: Path) -> Path:
    """The wheel in a new folder, beside the folder ``source`` that it was built in."""
    source = place / "source"
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("build", "__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    # As a build of an older revision would have left it.
    for folder in ("lib", f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"):
        stale = source / "build" / folder / "cdma" / "stale.py"
        stale.parent.mkdir(parents=True)
        stale.touch()
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, source],
        check=True,
        capture_output=True,
    )
    (built,) = place.glob("*.whl")
    return built
