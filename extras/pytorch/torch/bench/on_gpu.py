"""``make gpu``: all that a GPU has to show, within 12 minutes, what matters most first.

    make gpu                       # on a machine with a GPU
    TRITON_INTERPRET=1 make gpu    # rehearses it on a processor, with less of everything

Each part is a command, and writes its record as soon as it ends. A part that has a record of this revision and this device
is left out, so that a run goes on where the last one ended. A part that is too slow ends by itself, without a record.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cdma.base.errors import ToolError
from cdma.gpu.layout import where

#: Seconds of a run.
BUDGET = 720.0


@dataclass(frozen=True)
class Part:
    """A command; its words where Triton's interpreter stands for a GPU; and the seconds that it may take."""

    name: str
    words: str
    rehearsal: str
    seconds: float


PARTS = (
    Part(
        "rates",
        "bench gpu --formats zvc32 zvc16 zvc8 bf16 fp32 --densities 1 0.5 0.3 --sizes 256",
        "bench gpu --hostile 1",
        150,
    ),
    *(
        Part(
            f"saved-{network}",
            f"bench saved --networks {network} --ways save_on_cpu checkpoint saved --rounds 5",
            "bench saved --cpu --networks small --ways save_on_cpu checkpoint saved --rounds 1",
            80,
        )
        for network in ("gpt2", "vgg16", "resnet50")
    ),
    Part(
        "swap",
        "bench swap --cuda --networks vgg16 resnet50 alexnet224 squeezenet224 googlenet mobilenet --batch 32 --rounds 3",
        "bench swap --networks vgg --batch 4 --rounds 1 --policies vdnn_all cdma",
        210,
    ),
    Part("hostile", "bench gpu --hostile 300", "bench gpu --hostile 2", 120),
)


def run(
    folder: Path, revision: str, parts: tuple[Part, ...] = PARTS, clock: Callable[[], float] = time.monotonic
) -> list[str]:
    """Runs the parts that have no record; returns the names of those that have none then."""
    rehearses = os.environ.get("TRITON_INTERPRET") == "1"
    if not rehearses and not torch.cuda.is_available():
        raise ToolError(
            "there is no GPU here that PyTorch can use; TRITON_INTERPRET=1 rehearses on a processor"
        )
    of = {"revision": revision, **where(not rehearses)}
    folder.mkdir(parents=True, exist_ok=True)
    end, missing = clock() + BUDGET, []
    for part in parts:
        file = folder / f"{part.name}.json"
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        if kept == kept | of:
            print(f"{part.name}: has a record")
            continue
        began = clock()
        found = _found(part.rehearsal if rehearses else part.words, min(part.seconds, end - began))
        if isinstance(found, str):
            missing.append(part.name)
            print(f"{part.name}: {found}", flush=True)
            continue
        record = {**of, "command": f"cdma {part.words}", "seconds": clock() - began, "rows": found}
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        partial.replace(file)
        print(f"{part.name}: {file}", flush=True)
    return missing


def _found(words: str, seconds: float) -> Any:
    """What a command prints as JSON; a sentence if there is none."""
    if seconds <= 0:
        return "has no time left"
    command = [sys.executable, "-m", "cdma", *words.split(), "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"took more than {seconds:.0f} seconds"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1]
    return json.loads(done.stdout)


def main() -> int:
    """Runs all parts."""
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True
    )
    missing = run(Path("build/gpu"), git.stdout.strip())
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
