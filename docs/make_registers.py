"""Writes ``sim/engine/driver/cdma_regs.h``, the C header with the registers of every engine.

python docs/make_registers.py           # writes it
python docs/make_registers.py --check   # writes nothing; the status is 1 where it is not as it would be written
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cdma.hdl.deliver.register_texts import register_texts
from cdma.hdl.spec.engine import EngineConfig

HEADER = Path(__file__).resolve().parents[1] / "sim/engine/driver/cdma_regs.h"


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare the file and do not write it")
    check = parser.parse_args().check
    text = register_texts(EngineConfig(crc=True))["cdma_regs.h"]
    if HEADER.read_text(encoding="utf-8") != text:
        if check:
            print(f"{HEADER.name} is not current: run python docs/make_registers.py")
            return 1
        HEADER.write_text(text, encoding="utf-8")
        print(HEADER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
