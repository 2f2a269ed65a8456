"""Measures what a designer reads and waits for: the default engine's lines, its generation and its regression, at another
revision and here.

    python -m tests.designer_time 5019f58

Seconds are those of the processor, without builds of simulations, and of a generation those of the better of two: other work
on the machine then counts little. Both revisions use the tools that are installed. What is printed is JSON, with a row for
each revision.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.same_output import ROOT, link_package


def lines_of(verilog: str) -> dict[str, int]:
    """Lines of code, lines of comments, blank ones apart, and modules."""
    lines = [line.strip() for line in verilog.splitlines()]
    comments = sum(line.startswith("//") for line in lines)
    modules = sum(line.startswith("module ") for line in lines)
    code = len(lines) - comments - lines.count("")
    return {"code_lines": code, "comment_lines": comments, "verilog_modules": modules}


def _cdma(package: Path, *words: str) -> tuple[float, str]:
    """Runs the command of a revision: the seconds of the processor, and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    before = os.times()
    command = [sys.executable, "-m", "cdma", *words]
    done = subprocess.run(
        command, env=environment, cwd=package, check=True, stdout=subprocess.PIPE, text=True
    )
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4]), done.stdout


def _measured(package: Path) -> dict[str, Any]:
    """The figures of one revision, which is laid out in ``package``."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = min(_cdma(package, "generate", "engine", "-o", folder)[0] for _ in range(2))
        lines = lines_of((Path(folder) / "cdma_engine.v").read_text())
    _cdma(package, "verify", "engine", "--tests", "registers", "--json")
    busy, told = _cdma(package, "verify", "engine", "--jobs", "1", "--json")
    ran = json.loads(told)
    counts = {"cycles": ran["cycles"], "bench_checks": ran["checks"], "bench_tests": len(ran["tests"])}
    return {
        "generation_seconds": round(seconds, 2),
        **lines,
        "regression_seconds": round(busy, 2),
        **counts,
    }


def _at(revision: str, measure: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """What is measured of another revision of the repository."""
    with tempfile.TemporaryDirectory() as folder:
        checkout, package = Path(folder) / "checkout", Path(folder) / "package"
        package.mkdir()
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(checkout), revision], check=True)
        try:
            return {"design": revision, **measure(link_package(checkout, package))}
        finally:
            subprocess.run([*git, "remove", "--force", str(checkout)], check=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("base", metavar="REVISION")
    base = parser.parse_args(argv).base
    with tempfile.TemporaryDirectory() as folder:
        here = {"design": "here", **_measured(link_package(ROOT, Path(folder)))}
    print(json.dumps({"rows": [_at(base, _measured), here]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
