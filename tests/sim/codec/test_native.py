"""The kernels in C do what the golden model does, byte for byte, and stay within their buffers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cdma
from cdma.sim.codec import model, software
from cdma.sim.codec.software import Kernels
from cdma.sim.codec.stimuli import SHAPES, draw, draw_words
from tests.support.native import SOURCE, build, check, check_all, compiler, load
from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

#: Every set of kernels that there is, on some machine.
LEVELS = ("scalar", "avx2", "avx512", "neon")

#: A build whose large table of codes is made for about every other packet of these tests, and not for long ones alone.
#: It is for what a table does, and what the most optimised one does is tried without it.
SOON = ("-DWORTH_A_TABLE=100", "-O1")


@pytest.fixture(scope="module", params=LEVELS)
def level(request):
    if request.param not in load(build()).levels():
        pytest.skip(f"this machine does not run {request.param}")
    return request.param


@pytest.fixture(scope="module")
def kernels(level):
    return Kernels(load(build()), level)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SHAPES), st.integers(0, 2**32), st.sampled_from([1, 2]))
def test_byte_identical_to_the_golden_model(kernels, shape, seed, levels):
    rng = np.random.default_rng(seed)
    check(kernels, *draw(rng, shape, levels), rng)


@pytest.mark.slow
def test_every_shape_and_preset(level):
    check_all(Kernels(load(build(*SOON)), level), np.random.default_rng(1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "format",
    [
        *map(cdma.Format.preset, ("zvc32", "fp32", "aie2p")),
        cdma.Format(16, 64, 4, align=8),
        cdma.Format(16, levels=2),
    ],
    ids=str,
)
def test_long_packets_and_threads(kernels, format):
    shared = {"threads": 3, "chunk_bytes": 1000}
    rng = np.random.default_rng(5)
    # Enough words for the large table.
    words = np.concatenate([draw_words(rng, format) for _ in range(300)])
    words[len(words) // 3 : len(words) // 2] = 0
    assert len(words) > 16384
    single, several = (np.zeros(format.bound_bytes(len(words)), np.uint8) for _ in range(2))
    size = kernels.compress(words, format, single)
    assert kernels.compress(words, format, several, **shared) == size
    assert single[:size].tobytes() == several[:size].tobytes() == model.compress(words, format)
    result = np.zeros_like(words)
    assert kernels.decompress(single[:size], result, format, **shared) == size
    assert np.array_equal(result, words)
    # Cut anywhere, or with a header that leads astray, the shares do not meet.
    assert kernels.decompress(single[: size // 2], result, format, **shared) is None
    for place in rng.integers(0, size, 40):
        damaged = single[:size].copy()
        damaged[place] ^= 1 << rng.integers(0, 8)
        alone, together = np.zeros_like(words), np.zeros_like(words)
        took = kernels.decompress(damaged, alone, format)
        assert kernels.decompress(damaged, together, format, **shared) == took
        assert took is None or np.array_equal(alone, together)


@pytest.mark.slow
def test_an_invalid_format_is_refused(kernels):
    format = cdma.Format()
    good = software._parameters(format)
    module = kernels._module
    for bad in (good[:-1], bytes(len(good)), good[:4] + b"\x21" + good[5:]):
        with pytest.raises(ValueError, match="parameters of a format"):
            module.compress(0, bad, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="no such level"):
        module.compress(9, good, 0, 0, 0, 0)


# Some of the shapes have every word, window, code, field and alignment; `make thorough` takes all, twice.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rounds", "every"), [("1", "29"), pytest.param("2", "1", marks=pytest.mark.thorough)], ids=str
)
def test_no_byte_outside_of_a_buffer_is_touched(rounds, every):
    """Address and undefined-behaviour sanitizers watch every access of a process of its own."""
    library = subprocess.check_output([compiler(), "-print-file-name=libasan.so"], text=True).strip()
    if not os.path.isabs(library):
        pytest.skip("the compiler has no address sanitizer")
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1", *SOON)
    environment = os.environ | {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.native", build(*flags), "1", rounds, every],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert f"packets by {', '.join(load(build()).levels())}" in done.stdout


def test_the_kernels_for_neon(tmp_path):
    """Compiled where a compiler for it is, and run where an emulator is."""
    if shutil.which("aarch64-linux-gnu-gcc"):
        command = ["aarch64-linux-gnu-gcc"]
    elif find_spec("ziglang"):
        command = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl"]
    else:
        pytest.skip("there is neither aarch64-linux-gnu-gcc nor ziglang")
    program = tmp_path / "program"
    options = ["-std=c11", "-O2", "-static", "-Wall", "-Wextra", "-Wno-unused-function", f"-I{SOURCE.parent}"]
    source = ROOT / "tests" / "support" / "native_table.c"
    subprocess.run([*command, *options, source, "-o", program], check=True)
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("it compiles; there is no qemu-aarch64 to run it")
    assert subprocess.check_output([emulator, program], text=True) == "neon\n"
