"""Writes ``sim/engine/driver/cdma_regs.h``, the C header with the registers of every engine.

python docs/make_registers.py
"""

from __future__ import annotations

from pathlib import Path

from cdma.hdl.deliver.registers import register_texts
from cdma.hdl.spec.engine import EngineConfig

HEADER = Path(__file__).resolve().parents[1] / "sim/engine/driver/cdma_regs.h"


def header() -> str:
    """The header as it is to be."""
    return register_texts(EngineConfig(crc=True))["cdma_regs.h"]


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="utf-8")
