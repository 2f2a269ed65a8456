"""The text of the C driver, for the folder that an engine is generated into."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["c_driver"]


def c_driver(name: str = "cdma") -> str:
    """Returns the text of ``cdma.h``, which includes the ``NAME_regs.h`` of any engine."""
    text = (files(__package__) / "cdma.h").read_text(encoding="utf-8")
    return text.replace('#include "cdma_regs.h"', f'#include "{name}_regs.h"')
