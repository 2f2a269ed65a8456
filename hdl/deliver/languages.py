"""The languages of designs that take a block."""

from __future__ import annotations

from cdma.base.errors import ParameterError

__all__ = ["LANGUAGES", "SYSTEM_VERILOG", "VERILOG", "VHDL", "check_name_in", "ending"]

VERILOG, SYSTEM_VERILOG, VHDL = "verilog", "sv", "vhdl"

LANGUAGES = (VERILOG, SYSTEM_VERILOG, VHDL)


def ending(language: str) -> str:
    """What the files of a block end with: for a design in VHDL it is in Verilog."""
    return ".sv" if language == SYSTEM_VERILOG else ".v"


def check_name_in(language: str, name: str) -> None:
    """Refuses the legal name of a module that the language would have to escape."""
    if language == VHDL and ("__" in name or name.endswith("_")):
        raise ParameterError(
            f"name is {name!r}; in VHDL no name has two underscores in a row, or one at its end"
        )
