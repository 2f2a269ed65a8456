"""Proves that the Verilog of another revision and of this checkout, whose texts differ, are the same logic.

    python -m tests.same_logic v0.1                         # codecs, in the small shapes below
    python -m tests.same_logic HEAD~3 --word-bits 16 --lanes 4
    python -m tests.same_logic HEAD~3 --engine              # engines, in their shapes below: a minute or two each
    python -m tests.same_logic HEAD~3 --engine --lossy fp32

Of codecs every output bit is the same in every cycle of every run from the initial values on, whatever the names inside are.
Of engines each module is the same logic in any state, where modules, registers and memories have the names that they had.
Beside ``tests/same_output.py``, which says where texts differ. The status is 1 where one is not proven.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cdma.hdl.spec.codec import BLOCKS
from cdma.options import ENGINE
from cdma.verif.proofs.equivalence import Modules, Revisions
from cdma.verif.proofs.proof import PROVEN
from tests.same_output import ROOT, link_package

#: Shapes that have most constructs and take seconds.
_SHAPES = (
    "--word-bits 8 --window 8 --lanes 2",
    "--word-bits 8 --window 16 --code-bits 2 --runtime-values --lanes 4",
    "--word-bits 8 --window 8 --lanes 2 --queue 0",
)

_ENGINES = (
    "",
    "--pipelined",
    "--word-bits 16 --lanes 4 --alignment word --crc --lossy fp32 --units 2 --stripe-bytes 256",
    "--dimensions 3 --register-protection secure",
    "--no-registers --lanes 32 --word-bits 8",
)

_SECONDS = 1200


def _verilog(package: Path, block: str, options: Sequence[str]) -> str:
    """What a checkout, laid out in ``package``, generates."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cdma", "generate", block, "-o", folder, *options]
        environment = {**os.environ, "PYTHONPATH": str(package)}
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        return (Path(folder) / f"cdma_{block}.v").read_text()


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Runs the command line on the checkout ``root``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("base", metavar="REVISION")
    parser.add_argument("--engine", action="store_true", help="engines in the place of codecs")
    arguments, options = parser.parse_known_args(argv)
    blocks = (ENGINE,) if arguments.engine else BLOCKS
    shapes = (
        [options] if options else [shape.split() for shape in (_ENGINES if arguments.engine else _SHAPES)]
    )
    proven = True
    with tempfile.TemporaryDirectory() as outer:
        folders = [Path(outer) / side for side in ("before", "after")]
        for folder in folders:
            folder.mkdir()
        checkout = Path(outer) / "checkout"
        git = ["git", "-C", str(root), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(checkout), arguments.base], check=True)
        try:
            before, after = (
                link_package(tree, folder) for tree, folder in zip((checkout, root), folders, strict=True)
            )
            for shape in shapes:
                for block in blocks:
                    options = [*shape, "--no-init"] if arguments.engine else shape
                    sides = (_verilog(package, block, options) for package in (before, after))
                    kind = Modules if arguments.engine else Revisions
                    status, bits, detail = kind(*sides, f"cdma_{block}").compare(_SECONDS)
                    print(f"{block} {' '.join(shape)}: {status}, {bits} bits {detail}".rstrip(), flush=True)
                    proven &= status == PROVEN
        finally:
            subprocess.run([*git, "remove", "--force", str(checkout)], check=True)
    return not proven


if __name__ == "__main__":
    sys.exit(main())
