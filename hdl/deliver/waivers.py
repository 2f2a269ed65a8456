"""The waivers for Verilator that go with every Verilog text of the project."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["Waiver", "verilator_waivers", "waivers"]


@dataclass(frozen=True)
class Waiver:
    """A rule of Verilator that the Verilog is not held to, and why."""

    rule: str
    reason: str


#: Not in that file, because only such a text needs it, and an older Verilator may not know the rule.
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


def waivers() -> list[Waiver]:
    """What that text says."""
    found = re.finditer(
        r"^// (?P<reason>.+)\nlint_off -rule (?P<rule>\w+)$", verilator_waivers(), re.MULTILINE
    )
    return [Waiver(each["rule"], each["reason"]) for each in found]
