"""The files of this repository that are made from the register description, and the command that makes them.

``python -m cdma.hdl.texts.files`` in the repository's root writes them anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.spec.registers.map import register_map

from .c_header import c_header
from .document import register_document
from .rdl import register_rdl

__all__ = ["TEXTS", "generated_files"]

#: Each text that is made from a register map, by the name of its file beside the Verilog.
TEXTS: dict[str, Callable[[RegisterMap], str]] = {
    "cdma_regs.h": c_header,
    "cdma_regs.rdl": register_rdl,
    "cdma_registers.md": register_document,
}

_IN_REPOSITORY = {"docs/registers.md": "cdma_registers.md", "sim/driver/cdma_regs.h": "cdma_regs.h"}


def generated_files() -> dict[str, str]:
    """The repository's own files, for the default configuration: path from the root, and text."""
    registers = register_map(EngineConfig())
    return {path: TEXTS[name](registers) for path, name in _IN_REPOSITORY.items()}


def _main() -> int:
    for path, text in generated_files().items():
        target = Path(path)
        if not target.parent.is_dir():
            print(
                f"{path}: there is no {target.parent}/ here; run this in the repository's root",
                file=sys.stderr,
            )
            return 2
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, target)
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
