"""The types, checked beside the other tests: mypy takes longer than any of these, and one core."""

from __future__ import annotations

import subprocess
import sys

from tests.support.paths import ROOT


def test_mypy_has_no_complaint() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
