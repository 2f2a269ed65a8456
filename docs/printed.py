"""Writes what ``cdma generate engine`` prints into two files of the repository: ``sim/engine/driver/cdma_regs.h``, the C
header with the registers of every engine, and the module in ``docs/verilog.md``.

python docs/printed.py
"""

from __future__ import annotations

import re
from pathlib import Path

from cdma.hdl.deliver.registers import register_texts
from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import EngineDesign

HEADER = Path(__file__).resolve().parents[1] / "sim/engine/driver/cdma_regs.h"


def header() -> str:
    """The header as it is to be."""
    return register_texts(EngineConfig(crc=True))["cdma_regs.h"]


PAGE = Path(__file__).parent / "verilog.md"

#: A module with the comment above it.
_MODULE = re.compile(r"(?:^//[^\n]*\n)*^module (\w+) \(\n.*?^endmodule\n", re.MULTILINE | re.DOTALL)


def page() -> str:
    """The page as it is to be: its module as it is printed now."""
    modules = {found[1]: found[0] for found in _MODULE.finditer(EngineDesign(EngineConfig()).verilog())}
    text = PAGE.read_text(encoding="utf-8")
    return re.sub(
        rf"^```verilog\n{_MODULE.pattern}```$",
        lambda shown: f"```verilog\n{modules[shown[1]]}```",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
