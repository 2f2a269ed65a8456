"""The waivers for Verilator that go with every Verilog text of the project."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["verilator_waivers"]


def verilator_waivers() -> str:
    """The text of ``waivers.vlt``: with it, ``verilator --lint-only -Wall`` has no complaint."""
    return (files(__package__) / "waivers.vlt").read_text("utf-8")
