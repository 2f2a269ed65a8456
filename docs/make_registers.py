"""Writes the files of this repository that are made from the register map of the default engine with a CRC, with the
registers that other engines have besides.

    python docs/make_registers.py           # writes docs/registers.md and sim/engine/driver/cdma_regs.h
    python docs/make_registers.py --check   # writes nothing

With ``--check`` the status is 1 where one of them is not as it would be written.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from cdma.hdl.deliver.register_texts import register_texts
from cdma.hdl.spec.engine import EngineConfig

ROOT = Path(__file__).resolve().parents[1]

#: Where each text lies, by the name that it has beside a generated engine.
FILES = {"cdma_registers.md": "docs/registers.md", "cdma_regs.h": "sim/engine/driver/cdma_regs.h"}


def write(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare the files and write none")
    arguments = parser.parse_args()
    texts = register_texts(EngineConfig(crc=True), every=True)
    old = {
        path: texts[name]
        for name, path in FILES.items()
        if not (ROOT / path).is_file() or (ROOT / path).read_text(encoding="utf-8") != texts[name]
    }
    for path, text in old.items():
        if arguments.check:
            print(f"{path} is not current: run python docs/make_registers.py")
        else:
            write(ROOT / path, text)
            print(path)
    return bool(old and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
