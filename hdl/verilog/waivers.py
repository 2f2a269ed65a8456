"""The waivers for Verilator that go with every Verilog text of the project."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["verilator_waivers"]


#: Not in that file, because Verilator before 5.038 refuses a rule that it does not know.
_DECLARED = """\
// An initial value stands in the declaration, because no other process may write a variable of an always_ff.
lint_off -rule PROCASSINIT
"""


def verilator_waivers(*, declared_values: bool = False) -> str:
    """The text of ``waivers.vlt``: with it, ``verilator --lint-only -Wall`` has no complaint.

    Those of a text that has initial values in declarations with ``declared_values``.
    """
    text = (files(__package__) / "waivers.vlt").read_text("utf-8")
    return text + _DECLARED if declared_values else text
