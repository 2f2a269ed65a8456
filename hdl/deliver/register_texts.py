"""The texts that are made from the register map: C header, SystemRDL and document."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map

from .c_header import c_header
from .document import as_markdown
from .register_document import register_document
from .systemrdl import register_rdl

__all__ = ["register_texts"]


def register_texts(config: EngineConfig, name: str = "cdma", *, every: bool = False) -> dict[str, str]:
    """Each text about the registers of the engine of ``config``, by the name of its file, which begins with ``name``; with
    ``every`` also about registers that only others have.

    The C header has the registers of every engine, because one driver serves them all.
    """
    registers = register_map(config, every=every)
    return {
        f"{name}_regs.h": c_header(register_map(config, every=True), name),
        f"{name}_regs.rdl": register_rdl(registers, name),
        f"{name}_registers.md": as_markdown(register_document(registers)),
    }
