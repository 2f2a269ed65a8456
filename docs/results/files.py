"""How long ``cdma compress`` and ``cdma decompress`` take for a file of 1 GB that has to come from the disk.

    python -m docs.results.files

prints as JSON what both commands say of their round of median time; the file is in the temporary directory.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from cdma.sim.codec.stimuli import activations

_ROUNDS = 5


def rounds(source: Path, *command: str | Path) -> dict[str, Any]:
    """What a command says of its round of median time; before each, ``source`` is nowhere but on the disk."""
    found = []
    for _ in range(_ROUNDS):
        os.sync()
        with source.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        words = [sys.executable, "-m", "cdma", *map(str, command), "--json"]
        found.append(json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout))
    middle = statistics.median(one["seconds"] for one in found)
    return {"command": command[0]} | next(one for one in found if one["seconds"] == middle)


def measured(numbers: int = 250_000_000) -> list[dict[str, Any]]:
    """The rows of both commands, for so many numbers of float32 of density 0.45."""
    with tempfile.TemporaryDirectory() as folder:
        raw, packed, back = (Path(folder) / name for name in ("raw.npy", "packed.cdma", "back.npy"))
        np.save(raw, activations(numbers, 0.45, 0).reshape(-1)[:numbers])
        return [rounds(raw, "compress", raw, packed), rounds(packed, "decompress", packed, back)]


if __name__ == "__main__":
    print(json.dumps({"rows": measured()}))
