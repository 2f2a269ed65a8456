"""The repository's C header of the registers is that of the register map."""

from __future__ import annotations

import subprocess
import sys

from tests.support.paths import ROOT


def test_the_header_is_current() -> None:
    command = [sys.executable, ROOT / "docs" / "make_registers.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
