"""Says whether two versions of this project make the same things: for work that must not change them.

    python tests/same_output.py against HEAD            # this checkout, as it stands, and a revision of its history
    python tests/same_output.py against v0.1 engine codec-16
    python tests/same_output.py record before.json      # the same in two steps: before the work
    python tests/same_output.py compare before.json     # and after it

What is compared, by checksum: every file and the JSON that ``cdma generate`` writes for the configurations below,
compressed streams, containers and analyses of the golden model, and the ``--json`` of the commands that need no
simulator. The last words on the command line choose cases by what their names begin with. The status is 1 where
anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Shapes of codecs, each generated as compressor and as decompressor.
_CODECS = {
    "default": "",
    "16": "--word-bits 16 --lanes 16",
    "bytes": "--word-bits 8 --lanes 32 --no-init",
    "wide": "--lanes 32",
    "one-lane": "--lanes 1 --window 64",
    "codes": "--word-bits 8 --window 64 --code-bits 4 --values 0 1 0xff --lanes 4",
    "runtime": "--word-bits 16 --window 64 --code-bits 2 --runtime-values --lanes 16 --name mine --prefix my_",
    "pipelined": "--pipelined",
    "pipelined-narrow": "--word-bits 8 --lanes 1 --pipelined --no-init",
    "pipelined-codes": "--word-bits 8 --window 64 --code-bits 4 --runtime-values --pipelined",
}

_ENGINES = {
    "default": "",
    "bare": "--no-registers",
    "pipelined": "--pipelined",
    "pipelined-bare": "--pipelined --no-registers --no-init --lanes 4 --dev-data-bits 128 --host-data-bits 128",
    "word-aligned": "--alignment word --no-init",
    "word-aligned-bare": "--alignment word --no-registers --word-bits 8 --lanes 16 --host-data-bits 64",
    "codes": "--word-bits 8 --lanes 32 --window 64 --code-bits 4",
    "narrow": "--lanes 2 --dev-data-bits 64 --host-data-bits 64 --latency 20 --outstanding 3 --descriptors 2",
    "unequal": "--word-bits 16 --dev-data-bits 512 --host-data-bits 128 --burst-beats 16 --ring-entries 64",
    "lossy": "--word-bits 8 --lossy fp32 --crc",
    "fields": "--format bf16 --lanes 16 --alignment word --lossy fp32 --crc",
    "units": "--units 2 --register-slices in,out",
    "addresses": "--dev-address-bits 40 --host-address-bits 48 --name dma --prefix d_ --code-bits 2",
}

#: The golden model and what stands on it, printed as one line for each thing.
_MODEL = """
import hashlib, itertools, json, random
import numpy as np, cdma
rng = np.random.default_rng(1)
for bits, window, code in itertools.product((8, 16, 32), (32, 64), (1, 2, 4)):
    top = (1 << code) - 1
    form = cdma.Format(bits, window, code, tuple(range(0, 3 * top, 3))[:max(1, top - 1)])
    for count in (0, 1, window - 1, window, 5 * window + 3, 40000):
        words = np.where(rng.random(count) < 0.5, 0, rng.integers(0, 1 << min(bits, 6), count)).astype(f"u{bits // 8}")
        packed = cdma.compress(words, form)
        assert (cdma.decompress(packed, count, form) == words).all()
        print(bits, window, code, count, hashlib.sha256(packed).hexdigest(), cdma.analyse(words, form))
        for cut in (packed[:-bits // 8], packed + packed[:bits // 8]):
            try:
                cdma.decompress(cut, count, form)
            except cdma.CorruptStream as error:
                print(error)
"""

#: Steps of training and several devices, by the system model. Kernels of the device are left out: what they take
#: is to be measured on a card.
_STUDY = """
import itertools
from cdma.study.system.machine import load_assumptions
from cdma.study.system.density_table import load_densities, with_transformer
from cdma.study.system.machine import load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import load_network, network_names
from cdma.study.system.study import several
from cdma.study.system.verdict import verdict
densities = with_transformer(load_densities())
policies = ("none", "vdnn_all", "vdnn_conv", "lms", "vdnn++", "cdma", "cdma_conv", "cdma_select", "oracle")
for name in network_names():
    model = Model(load_network(name), load_machine("titan_xp"), load_assumptions(), densities)
    for row in model.evaluate_all(policies, ("zv", "fields")):
        print(row)
    print(verdict(model, policies, ("zv",)))
model = Model(load_network("alexnet"), load_machine("v100"), load_assumptions(), densities)
for devices, links in itertools.product((1, 3), (1, 2)):
    print(several(model, "cdma", "rl", devices, links))
"""

_TENSOR = """
import numpy as np
rng = np.random.default_rng(2)
array = np.maximum(rng.standard_normal((64, 1000), np.float32) - 0.3, 0)
np.save("tensor.npy", array)
"""

#: Command lines after ``cdma``, run one after the other in an empty folder.
_COMMANDS = {
    "container": ["compress tensor.npy tensor.cdma", "decompress tensor.cdma back.npy"],
    "profile": ["study profile tensor.npy --json"],
    "lists": ["verify compressor --list --json", "verify decompressor --list --json --pipelined"],
}


def cases() -> dict[str, list[list[str]]]:
    """Each case's command lines, by its name."""
    python = [sys.executable, "-c"]
    cdma = [sys.executable, "-m", "cdma"]
    found = {
        f"codec-{name}-{kind}": [[*cdma, "generate", kind, "--json", *options.split()]]
        for name, options in _CODECS.items()
        for kind in ("compressor", "decompressor")
    }
    found |= {
        f"engine-{name}": [[*cdma, "generate", "engine", "--json", *options.split()]]
        for name, options in _ENGINES.items()
    }
    found |= {"software-golden": [[*python, _MODEL]], "software-study": [[*python, _STUDY]]}
    found |= {
        f"software-{name}": [[*python, _TENSOR], *([*cdma, *line.split()] for line in lines)]
        for name, lines in _COMMANDS.items()
    }
    return found


def made_by(commands: Sequence[Sequence[str]], package: Path) -> dict[str, str]:
    """The checksum of everything that the commands print and write, by file name."""
    with tempfile.TemporaryDirectory() as outer:
        # Some files have the name of their folder in them.
        folder = Path(outer) / "made"
        folder.mkdir()
        printed = b""
        for command in commands:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(package)},
                capture_output=True,
                check=False,
            )
            printed += done.stdout
            if done.returncode:
                raise SystemExit(f"{' '.join(command)[:200]} failed: {done.stderr.decode()[-2000:]}")
        made = {path.name: _contents(path) for path in sorted(folder.iterdir())}
        made["standard output"] = printed
        return {name: hashlib.sha256(text).hexdigest() for name, text in made.items()}


def _contents(file: Path) -> bytes:
    """What is in a file; of Verilog without comments, which come from the texts of the source."""
    text = file.read_bytes()
    return re.sub(rb"(?m)^ *//.*\n| *//.*", b"", text) if file.suffix == ".v" else text


def link_package(root: Path, folder: Path) -> Path:
    """Lays out the package of the checkout ``root`` in ``folder``, without installing it."""
    package = folder / "cdma"
    package.mkdir()
    rooms = (
        "base",
        "hdl",
        "sim",
        "verif",
        "synth",
        "extras/pytorch/torch",
        "extras/pytorch/gpu",
        "extras/study",
    )
    for part in [*(root / "cli").iterdir(), *(root / room for room in rooms if (root / room).is_dir())]:
        (package / part.name).symlink_to(part)
    (folder / "cdma_linux").symlink_to(root / "extras" / "linux" / "cdma_linux")
    return folder


def record(root: Path, chosen: Sequence[str]) -> dict[str, dict[str, str]]:
    """What the checkout ``root`` makes, case by case."""
    wanted = {
        name: commands for name, commands in cases().items() if not chosen or name.startswith(tuple(chosen))
    }
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        package = link_package(root, Path(folder))
        results = pool.map(lambda commands: made_by(commands, package), wanted.values())
        made: dict[str, dict[str, str]] = {}
        for name, result in zip(wanted, results, strict=True):
            print(f"{len(made) + 1}/{len(wanted)} {name}", file=sys.stderr)
            made[name] = result
        return made


def record_revision(root: Path, revision: str, chosen: Sequence[str]) -> dict[str, dict[str, str]]:
    """What ``revision`` of the checkout ``root`` makes, case by case."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        git = ["git", "-C", str(root), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(checkout), revision], check=True)
        try:
            return record(checkout, chosen)
        finally:
            subprocess.run([*git, "remove", "--force", str(checkout)], check=True)


def differences(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> list[str]:
    """One sentence for each thing that is not the same, among the cases of ``after``."""
    return [
        f"{case}: {file} differs"
        for case, files in after.items()
        for file in sorted({*files, *before.get(case, {})})
        if files.get(file) != before.get(case, {}).get(file)
    ]


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Runs the command line on the checkout ``root``."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("against", "record", "compare"))
    parser.add_argument("base", metavar="REVISION|FILE")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args(argv)
    if arguments.what == "against":
        before = record_revision(root, arguments.base, arguments.cases)
    elif arguments.what == "compare":
        before = json.loads(Path(arguments.base).read_text())
    made = record(root, arguments.cases)
    if arguments.what == "record":
        Path(arguments.base).write_text(json.dumps(made, indent=1))
        return 0
    found = differences(before, made)
    print("\n".join(found) or f"{len(made)} cases, all the same")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
