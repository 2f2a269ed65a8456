"""The lines of an intake in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import block_lines, cost_lines, limit_lines, transaction_lines, verification_lines
from .line import FAILS, NOT_SHOWN, SHOWN, Line, Section
from .subject import Subject

__all__ = ["SECTIONS", "VERDICT", "sections_of"]

#: By title; a line that a block has not is None.
SECTIONS: Mapping[str, Sequence[Callable[[Subject], Line | None]]] = {
    "The block": (block_lines.what, block_lines.verilog, block_lines.parameters),
    "Clocks, resets, ports": (
        block_lines.clocks,
        block_lines.resets,
        block_lines.ports,
        block_lines.interfaces,
        block_lines.protocol,
    ),
    "Transactions and errors": (
        transaction_lines.ordering,
        transaction_lines.outstanding,
        transaction_lines.boundaries,
        transaction_lines.narrow,
        transaction_lines.errors,
    ),
    "Speed": (cost_lines.latency, cost_lines.waveform, cost_lines.throughput),
    "Cost": (cost_lines.area, cost_lines.fpga, cost_lines.memories, cost_lines.power),
    "Security": (transaction_lines.security,),
    "Certificate": (
        verification_lines.lint,
        verification_lines.netlist,
        verification_lines.tests,
        verification_lines.gates,
        verification_lines.four_states,
        verification_lines.coverage,
        verification_lines.proofs,
        verification_lines.mutants,
        verification_lines.faults,
    ),
    "Limits": (limit_lines.limits, limit_lines.never_tried),
}
#: The section whose verdict an intake begins with.
VERDICT = "Certificate"


def sections_of(subject: Subject, earlier: Sequence[Mapping[str, Any]] = ()) -> list[Section]:
    """All lines; what this run does not show is taken from ``earlier`` ones, lines as JSON, the last of which counts."""
    kept = {line.key: line for line in map(Line.of_record, earlier) if line.status != NOT_SHOWN}
    found = [
        Section(title, [_best(line, kept.get(line.key)) for make in makers if (line := make(subject))])
        for title, makers in SECTIONS.items()
    ]
    own = next(section for section in found if section.title == VERDICT)
    others = [line for section in found if section is not own for line in section.lines]
    verdict = limit_lines.verdict(subject, own.lines, others)
    return [
        Section(section.title, [verdict, *section.lines]) if section is own else section for section in found
    ]


def _best(line: Line, kept: Line | None) -> Line:
    """The line of this run, or that of an earlier one where this one shows nothing, or has an older record alone."""
    if kept is None or line.status in (SHOWN, FAILS):
        return line
    return kept if kept.date >= line.date else line
