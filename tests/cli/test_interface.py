"""What scripts rely on: the options of every command, its exit states, and the keys of its JSON.

``interface.json`` has them; ``python -m tests.cli.test_interface`` writes it anew, and with ``--all`` the slow lines too.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.app import main, parser
from cdma.streams import commands_of
from tests.support.paths import TINY

RECORD = Path(__file__).with_name("interface.json")
_SMALL = "--lanes 2 --word-bits 8 --window 8"

#: Command lines about files of :func:`_files`, run in this order in one folder.
QUICK = """
formats --json
generate compressor --lanes 2 --word-bits 8 -o rtl --json
generate decompressor --lanes 2 --word-bits 8 --no-init --pipelined -o rtl --json
generate quantiser -o rtl --json
generate dequantiser -o rtl --json
generate engine --lanes 3 --json
generate compressor --period 0
compress a.npy a.cdma --json
compress a.npy b.cdma --fit --word-bits 8 --json
compress a.npy c.cdma --best --json
compress a.npy a.npy
compress none.npy a.cdma
compress bad.npy a.cdma
compress a.npy a.cdma --best --fit
decompress a.cdma b.npy --json
decompress bad.npy b.npy
delta a.npy b.npy -o a.patch --json
delta a.npy none.npy -o a.patch
patch a.npy a.patch -o c.npy --json
patch bad.npy a.patch -o c.npy
verify compressor --list --json
verify decompressor --list
verify engine --list --json
verify quantiser --tests none
verify compressor --liberty a.lib
verify compressor --jobs 0
verify compressor --simulator none
coverage compressor --goal 101
prove --list --json
prove --list
prove none
mutate --block compressor --list --json
mutate --block none
faults none
faults aborts resets --case x
soak --minutes 0
wave compressor --words 3
wave engine --input a.npy --scenarios error
area compressor --sweep lanes=2 --compare 45
area compressor --depth 0
power compressor
power compressor --liberty {tiny} --link-pj-per-bit 0
fpga compressor --seeds 0
bench codec --lanes 3
bench engine --densities 2
bench units --rows rows.json --json
bench units --rows rows.json --markdown
bench units --units 2 --unit-counts 2
bench software --size 0.01 --rounds 1 --json
bench software --rounds 0
intake compressor --mutants 0
intake compressor --certificate bad.npy
intake compressor {small} -o intake --json
intake engine -o intake --json
demo --density 2
completion none
study profile a.npy --json
study profile bad.npy
study model step --network vgg16 --policy cdma --algorithm zv --json
study model step --network none
study model list
study model tensors --network vgg16 --json
study model figures
study tune hardware --sampler random --trials 2 --json
study tune hardware --trials 0
study bench queue --json
study bench words --json
bench none
none
formats --none
"""
#: Those that simulate or synthesise a small block.
SLOW = """
verify quantiser --lanes 2 --packets 20 --tests special --json
coverage compressor {small} --packets 20 --tests soak --json
prove stream_register --json
mutate --block compressor --config small.toml --packets 20 --count 2 --prove 1 --json
area compressor {small} --json
area compressor {small} --liberty {tiny} --clock-gating --no-breakdown --json
area compressor {small} --liberty {tiny} --compare 45 --json
power compressor {small} --liberty {tiny} --densities 0.5 --bytes 256 --json
fpga compressor {small} --target xilinx --json
"""


def _lines(text: str) -> list[str]:
    return [line.format(small=_SMALL, tiny="tiny.lib") for line in text.strip().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files that commands read."""
    made = tmp_path_factory.mktemp("interface")
    _files(made)
    return made


def _files(folder: Path) -> None:
    np.save(folder / "a.npy", np.arange(4096, dtype=np.int32) % 7)
    (folder / "bad.npy").write_bytes(b"no tensor")
    (folder / "tiny.lib").write_bytes(TINY.read_bytes())
    (folder / "small.toml").write_text("lanes = 2\nword_bits = 8\nwindow = 8\n")
    row = {
        "direction": "offload",
        "pattern": "scattered",
        "units": 2,
        "density": 0.5,
        "ratio": 2.0,
        "bytes": 64,
        "cycles": 9,
        "bound": 8,
        "share": 0.9,
        "link_utilisation": 0.8,
    }
    (folder / "rows.json").write_text(json.dumps({"units": [row]}))


def _told(line: str) -> str:
    """The exit state of a command line, and the keys of the JSON that it printed, if any."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        try:
            status = main(shlex.split(line))
        except SystemExit as end:
            status = int(end.code or 0)
    text = output.getvalue()
    keys = sorted(set(_keys(json.loads(text)))) if "--json" in line and text else []
    return " ".join([str(status), *keys])


#: Objects whose keys are names of what they are about, and paths, which are there where OpenSTA is installed.
_NAMED = (
    *("bins", "cells", "config", "format", "kinds", "ports", "tools"),
    *("input_path", "output_path", "through_path", "worst_path"),
)


def _keys(value: Any, path: str = "") -> Iterator[str]:
    match value:
        case dict() if path.rpartition(".")[2] not in _NAMED:
            for key, inner in value.items():
                yield from _keys(inner, f"{path}.{key}")
        case [*items] if any(isinstance(item, (dict, list)) for item in items):
            for item in items:
                yield from _keys(item, f"{path}[]")
        case _:
            yield path or "-"


def _options() -> dict[str, str]:
    """By command, a digest of its arguments but for what their help says."""
    names = ("option_strings", "dest", "nargs", "choices", "metavar", "required", "const")
    found = {}
    for command in commands_of(parser()):
        rows = [[getattr(action, name) for name in names] for action in command._actions]
        told = [[list(each) if hasattr(each, "keys") else each for each in row] for row in rows]
        found[command.prog] = hashlib.sha256(repr(sorted(map(repr, told))).encode()).hexdigest()[:8]
    return found


def _recorded() -> dict[str, Any]:
    return json.loads(RECORD.read_text())


def test_options() -> None:
    assert _options() == _recorded()["options"]


@pytest.mark.parametrize("line", _lines(QUICK))
def test_quick_lines(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert _told(line) == _recorded()["lines"][line]


@pytest.mark.thorough
@pytest.mark.verilator
@pytest.mark.parametrize("line", _lines(SLOW))
def test_slow_lines(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert _told(line) == _recorded()["lines"][line]


def _record(argv: list[str]) -> None:
    """Writes the record anew, line by line, and prints what is otherwise than before."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--all", action="store_true", help="run the slow lines too")
    every = [*_lines(QUICK), *_lines(SLOW)]
    wanted = every if asked.parse_args(argv).all else _lines(QUICK)
    before = _recorded()["lines"] if RECORD.exists() else {}
    told = dict(before)
    with tempfile.TemporaryDirectory() as temporary:
        _files(Path(temporary))
        os.chdir(temporary)
        for line in wanted:
            told[line] = _told(line)
            record = {"options": _options(), "lines": {line: told[line] for line in every if line in told}}
            RECORD.write_text(json.dumps(record, indent=0) + "\n")
            if told[line] != before.get(line):
                words = [set(text.split()) for text in (before.get(line, ""), told[line])]
                print(line, *(f"- {key}" for key in sorted(words[0] - words[1])), sep="\n  ")
                print(*(f"  + {key}" for key in sorted(words[1] - words[0])), sep="\n", flush=True)


if __name__ == "__main__":
    _record(sys.argv[1:])
