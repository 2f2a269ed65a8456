"""``cdma delta`` and ``cdma patch``: what changed between two files or folders of tensors, as a file, and back."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cdma.command import Command, flag, option
from cdma.result import Result

#: Names that a sentence tells of.
_TOLD = 3


def _make(arguments: argparse.Namespace) -> Result:
    from cdma.delta import make

    began = time.perf_counter()
    with _progress("comparing") as progress:
        summary = make(
            arguments.old, arguments.new, arguments.output, plain=arguments.plain, progress=progress
        )
    summary["seconds"] = time.perf_counter() - began
    raw, written = summary["raw_bytes"], summary["patch_bytes"]
    said = [
        f"{arguments.output}: {raw:,} bytes of {_tensors(summary)} as {written:,} bytes, "
        f"ratio {raw / written:.2f}, {summary['changed']} changed, in {summary['seconds']:.2f} s"
    ]
    what = {"new": "new", "replaced": "of another type or shape", "gone": "gone"}
    said += [f"{_names(summary[key])}: {text}" for key, text in what.items() if summary[key]]
    return Result(summary, said)


def _tensors(summary: dict[str, Any]) -> str:
    count = summary["tensors"]
    return "1 tensor" if count == 1 else f"{count} tensors"


def _names(names: list[str]) -> str:
    told = ", ".join(names[:_TOLD])
    return told if len(names) <= _TOLD else f"{told} and {len(names) - _TOLD} more"


def _patch(arguments: argparse.Namespace) -> Result:
    from cdma.delta import apply

    began = time.perf_counter()
    with _progress("patching") as progress:
        summary = apply(arguments.old, arguments.patch, arguments.output, progress, arguments.tensor)
    summary["seconds"] = time.perf_counter() - began
    said = f"{summary['raw_bytes']:,} bytes of {_tensors(summary)} in {summary['seconds']:.2f} s"
    return Result(summary, [f"{arguments.output}: {said}"])


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int], Callable[[int], Any]]]:
    """Gives what shows a bar over so many bytes, once these are known."""
    from cdma.output import byte_progress

    with ExitStack() as stack:
        yield lambda total: stack.enter_context(byte_progress(what, total))


COMMAND = Command(
    "delta",
    "what changed between two files or folders of tensors",
    "Write a patch that makes one .safetensors or .npy file, or a folder of them, of another; docs/deltas.md describes it.",
    _make,
    {
        "": (
            option("old", "the base: a file, or a folder with all that is in it", Path),
            option("new", "the file or folder that the patch makes of it", Path),
            option("-o --output FILE", "the patch", Path, required=True),
            flag("--plain", "streams that engines read: of whole words, without zlib"),
            flag("--json", "print what was done as JSON"),
        ),
    },
    ["old.safetensors new.safetensors -o step.patch", "checkpoint-100 checkpoint-200 -o step.patch --json"],
)  # fmt: skip

PATCH = Command(
    "patch",
    "carry out what cdma delta wrote",
    "Write what a patch makes of its base; a base that is another one is refused before anything is written.",
    _patch,
    {
        "": (
            option("old", "the base that the patch was made with", Path),
            option("patch", "what `cdma delta` wrote", Path),
            option("-o --output PATH", "the file or folder to write", Path, required=True),
            option("--tensor NAME", "this tensor alone, as a .npy file"),
            flag("--json", "print what was done as JSON"),
        ),
    },
    [
        "old.safetensors step.patch -o new.safetensors",
        "old.safetensors step.patch -o q.npy --tensor model.layers.0.q",
    ],
)  # fmt: skip
