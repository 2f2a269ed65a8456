"""The page of the registers: those of the default engine, and those that options add."""

from __future__ import annotations

from cdma.hdl.deliver.registers import register_texts
from cdma.hdl.spec.engine import EngineConfig


def registers_page() -> str:
    """The document that lies beside an engine, with every register that an engine may have."""
    return register_texts(EngineConfig(crc=True), every=True)["cdma_registers.md"]
