"""What Verilator complains of in a Verilog text, with all of its warnings, and what the project's waivers cover."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cdma.hdl.deliver.waivers import Waiver, verilator_waivers, waivers

from .build import BuildError
from .toolchain import find_verilator

__all__ = ["Lint", "lint"]

_WARNING = re.compile(r"^%(?:Warning|Error)-(\w+):", re.MULTILINE)
#: What is no Verilog, and not merely a warning.
_ERROR = re.compile(r"^%Error: (?!Exiting due to \d+ warning)", re.MULTILINE)


@dataclass(frozen=True)
class Lint:
    """What ``verilator --lint-only -Wall`` says of a text.

    ``complaints``
        Are its lines with the waivers; none is as it should be.
    ``waived``
        Says how often each waiver hides a warning.
    """

    complaints: Sequence[str]
    waived: Mapping[Waiver, int]


def lint(verilog: str, top: str) -> Lint:
    """Lints a text twice: with the waivers, and without them to count what they hide."""
    tool = find_verilator()
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        # DECLFILENAME compares the names of modules with that of the file.
        text, covers = (Path(directory) / name for name in (f"{top}.v", "waivers.vlt"))
        text.write_text(verilog)
        covers.write_text(verilator_waivers())

        def complaints(*files: Path) -> str:
            command = [*tool.command, "--lint-only", "-Wall", "--top-module", top, *map(str, files)]
            done = subprocess.run(command, env=tool.environment, capture_output=True, text=True)
            if _ERROR.search(done.stderr):
                raise BuildError(f"Verilator cannot lint {text.name}:\n{done.stderr}")
            return done.stderr.replace(f"{directory}/", "")

        left = [line for line in complaints(covers, text).splitlines() if _WARNING.match(line)]
        hidden = Counter(_WARNING.findall(complaints(text)))
    return Lint(left, {waiver: hidden[waiver.rule] for waiver in waivers()})
