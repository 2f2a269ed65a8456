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
    lines = _without_the_interpreter("tests.extras.pytorch.compiled", tmp_path, str(number))
    # Of integers those of three types of numbers, with and without KEEP.
    assert len(lines.split()) == (9 if number > 2 else 20)


def _without_the_interpreter(module, folder, *words):
    """What a program prints; a process knows only one of interpreter and compiler."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", module, *words], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


#: Instructions a word, there and back, that let a codec reach what the memory of an H100 allows.
_MOST = {"zvc32": (34, 18), "zvc16": (30, 16), "zvc8": (24, 16), "bf16": (48, 45), "fp32": (55, 50)}


@pytest.mark.slow
def test_kernels_have_few_instructions_a_word_and_no_spills(tmp_path):
    lines = _without_the_interpreter("tests.extras.pytorch.counted", tmp_path).splitlines()
    for line, (name, (there, back)) in zip(lines, _MOST.items(), strict=True):
        shown, *cells = (each.strip() for each in line.strip("|").split("|"))
        counts = [float(each) for each in cells[:5]]
        assert shown == f"`{name}`"
        assert counts[0] <= there, line
        assert counts[1] <= back, line
        assert min(counts[2:4]) >= 24, line
        assert counts[4] == 0, line
