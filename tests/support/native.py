"""Reads the macros of a C header. The kernels in C, built from this tree for tests, whatever is installed.

Random words and damaged streams of every shape of format through kernels, in buffers without a byte to spare.

Run as a program, with the path of a built module, a seed, a number of rounds and which shapes: for sanitizers, which need a
process of their own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

import numpy as np

from cdma.hdl.spec.format import PRESETS, Format
from cdma.sim.codec import model
from cdma.sim.codec.model import CorruptStream
from cdma.sim.codec.software import Kernels
from cdma.sim.codec.stimuli import SHAPES, damaged, draw, draw_words
from cdma.sim.codec.words import Words

from .paths import ROOT


def c_macros(text: str) -> dict[str, int]:
    """The numeric macros of a C header; of ``NAME(k)`` the offset of entry 0."""
    macros = {}
    for name, offset, number in re.findall(
        r"^#define (\w+)(?:\(k\) \((0x\w+)u .*| (0x[0-9a-f]+|\d+)u)$", text, re.MULTILINE
    ):
        macros[name] = int(offset or number, 0)
    return macros


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


def check(kernels: Kernels, format: Format, words: Words, rng: np.random.Generator) -> None:
    """Compares kernels with the golden model, on words and on four streams that may be damaged; the same with a base."""
    what = f"{kernels.name}, {format}, {len(words)} words"
    stream = model.compress(words, format)
    target = np.empty(format.bound_bytes(len(words)), np.uint8)
    assert target[: kernels.compress(words, format, target)].tobytes() == stream, what
    base = rng.integers(0, 1 << format.word_bits, len(words), np.uint64).astype(words.dtype)
    assert target[: kernels.compress(words ^ base, format, target, base=base)].tobytes() == stream, what
    for data in (stream, *(damaged(rng, stream) for _ in range(4))):
        try:
            expected = model.decompress(data, len(words), format)
        except CorruptStream:
            expected = None
        result = np.empty(len(words), words.dtype)
        took = kernels.decompress(np.frombuffer(data, np.uint8), result, format)
        assert (took == len(data)) == (expected is not None), what
        assert expected is None or np.array_equal(result, expected), what
        in_place = base.copy()
        for made, other in ((result, base), (in_place, in_place)):
            assert kernels.decompress(np.frombuffer(data, np.uint8), made, format, base=other) == took, what
            assert expected is None or np.array_equal(made ^ base, expected), what


def check_all(kernels: Kernels, rng: np.random.Generator, every: int = 1) -> int:
    """Compares kernels with the golden model once on every so many-th shape, and on every preset; returns how often."""
    drawn = [draw(rng, shape) for shape in SHAPES[::every]]
    drawn += [draw(rng, shape, 2) for shape in SHAPES[:: 3 * every]]
    drawn += [(format, draw_words(rng, format)) for format in map(Format.preset, PRESETS)]
    for format, words in drawn:
        check(kernels, format, words, rng)
    return len(drawn)


def _main(path: str, seed: str, rounds: str, every: str) -> None:

    module = load(Path(path))
    rng = np.random.default_rng(int(seed))
    count = 0
    for level in list(module.levels()) * int(rounds):
        count += check_all(Kernels(module, level), rng, int(every))
    print(f"{count} packets by {', '.join(module.levels())}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
