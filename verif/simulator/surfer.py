"""A command file for Surfer: the signals in their groups, the markers, and the whole run in the window.

Surfer's own state files change from version to version; the commands are documented. What values are called it takes from
an FST.
"""

from __future__ import annotations

from .vcd_trace import Trace
from .view import View

__all__ = ["surfer_commands"]


def surfer_commands(trace: Trace, view: View) -> str:
    """The commands, one a line. Groups that are closed are left out, because dividers cannot be."""
    lines = []
    for group in view.groups:
        if group.closed or not group.lines:
            continue
        lines += [f"divider_add {_word(group.title)}"] if group.title else []
        lines += [f"variable_add {trace.top.name}.{line.path}" for line in group.lines]
    lines += [f"marker_set {_word(name)} {trace.edges[cycle]}" for name, cycle in view.markers.items()]
    return "".join(f"{line}\n" for line in [*lines, "zoom_fit"])


def _word(text: str) -> str:
    """A name as one word, which is what a command takes."""
    return text.replace(" ", "_")
