"""Runs every command of README.md and docs/ as printed, in a fresh environment after the installation printed above it.

    python -m docs.commands [DOCUMENT...] [--limit SECONDS]

Each document has a copy of the checkout and an environment of its own. A command that is still running after the limit has
shown that it is understood and works so far; it is ended and listed. Lines that need what a reader has and this machine has
not (a library, a cluster, files of one's own) are listed as left out. It takes an hour or more.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: What a line names that only its reader has, PyTorch included, which takes gigabytes where no small wheel is offered.
_OWN = (
    r"your_pdk|mine\w*\.toml|\.safetensors|activations/|activations\.npz|weights\.npy|engine\.toml|tcp://|\bDIR\b|"
    r"\[torch\]|bench lossy|bench gpu|mypackage|in\.npy|\ba\.npy|CHECKOUT|layer\."
)


def lines_of(text: str) -> list[str]:
    """The lines of shell in a document: those of blocks of shell, and commands of this project in blocks of no language."""
    found = []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if language == "":
            lines = [line for line in lines if line.startswith(("cdma ", "pip "))]
        found += lines if language in ("", "sh") else []
    return found


def own(line: str) -> bool:
    """Whether a line needs what only its reader has, or sets up the environment that there is already."""
    return bool(re.search(_OWN, line)) or bool(
        re.match(r"make |insmod |cdma linux|python3 -m venv|\. \.venv", line)
    )


def _scripts(text: str, folder: Path) -> None:
    """Writes the programs that a document tells one to save under a name."""
    for name, block in re.findall(
        r"`(\w+\.(?:py|c))`:\n\n```(?:python|c)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    ):
        (folder / name).write_text(block, encoding="utf-8")


def exported(lines: list[str], number: int) -> str:
    """What the lines before that one export, for the shell in which it runs by itself."""
    return "".join(f"{line}\n" for line in lines[:number] if line.startswith("export "))


def _run(line: str, folder: Path, place: Path, limit: float, before: str = "") -> str:
    """What became of a line after those before it: "fine", "still running", or what it said last."""
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    job = subprocess.Popen(
        ["sh", "-c", before + line],
        cwd=folder,
        env={**os.environ, "PATH": path, "VIRTUAL_ENV": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = job.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGTERM)
        job.communicate()
        return "still running"
    last = said.strip().splitlines()[-1:] or [""]
    return "fine" if job.returncode == 0 else f"status {job.returncode}: {last[0]}"


def _document(path: Path, limit: float) -> list[str]:
    """Runs the lines of a document; those that failed."""
    text = path.read_text(encoding="utf-8")
    lines = lines_of(text)
    failed = []
    with tempfile.TemporaryDirectory(prefix="cdma-commands-") as scratch:
        folder, place = Path(scratch) / "checkout", Path(scratch) / "environment"
        shutil.copytree(
            ROOT,
            folder,
            ignore=shutil.ignore_patterns(".venv", "build", "dist", ".git", ".*_cache", "__pycache__"),
        )
        venv.create(place, with_pip=True)
        _scripts(text, folder)
        if not any(line.startswith("pip install") and not own(line) for line in lines):
            _run("pip install --quiet '.[verif,synth,bench]'", folder, place, 1200)
        for number, line in enumerate(lines):
            if own(line):
                outcome = "left out"
            else:
                patience = 1200 if line.startswith("pip ") else limit
                outcome = _run(line, folder, place, patience, exported(lines, number))
            print(f"{path.name}: {line}: {outcome}", flush=True)
            if outcome.startswith("status"):
                failed.append(line)
    return failed


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.commands",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("documents", nargs="*", type=Path, metavar="DOCUMENT", help="default: all")
    parser.add_argument(
        "--limit", type=float, default=120, metavar="SECONDS", help="for each command (default 120)"
    )
    arguments = parser.parse_args()
    failed = []
    for path in arguments.documents or DOCUMENTS:
        if lines_of(path.read_text(encoding="utf-8")):
            failed += _document(path, arguments.limit)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
