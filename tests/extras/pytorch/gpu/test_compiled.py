"""The kernels compile for a GPU; none is needed for that."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(0, id="zvc32"),
        pytest.param(1, id="bf16", marks=pytest.mark.thorough),
        pytest.param(2, id="codes in two words", marks=pytest.mark.thorough),
        pytest.param(3, id="integers"),
        pytest.param(4, id="codes of integers", marks=pytest.mark.thorough),
    ],
)
def test_every_kernel_compiles_for_an_h100(number, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.extras.pytorch.compiled", str(number)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    # Of integers those of three types of numbers, with and without KEEP.
    assert len(done.stdout.split()) == (9 if number > 2 else 11)
