"""What a certificate is made of beside the regression: proofs, what the tests reach, and how many mutants they must find.

It needs no simulator, so that what could be run can be said without one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.verif.proofs.choice import exact_proofs, smaller_proofs
from cdma.verif.proofs.proof import Claim
from cdma.verif.proofs.result import Result
from cdma.verif.proofs.runner import run_proof
from cdma.verif.simulator.design import Design

if TYPE_CHECKING:
    from cdma.verif.campaigns.coverage.collect import Coverage

__all__ = ["GOAL", "Chosen", "Shown", "chosen_proofs", "reached_by", "run_chosen"]


#: Percent of the mutants that are not equivalent that the regression must find.
GOAL = 95.0


@dataclass(frozen=True)
class Shown:
    """What became of a proof, which is of the ``own`` configuration of the design, or of another one of its blocks."""

    result: Result
    own: bool


@dataclass(frozen=True)
class Chosen:
    """The proofs about a design: those of its own configuration, the short ones of its blocks in others, and the names of
    those that take long and say nothing about this configuration."""

    own: Sequence[Claim]
    short: Sequence[Claim]
    long: Sequence[str]

    def __len__(self) -> int:
        return len(self.own) + len(self.short)


def chosen_proofs(design: Design) -> Chosen:
    """The proofs that say something of a design."""
    others = smaller_proofs(design.block, design.config)
    return Chosen(
        exact_proofs(design.block, design.config),
        [proof for proof in others if proof.quick],
        [f"{proof.name} ({proof.config})" for proof in others if not proof.quick],
    )


def run_chosen(chosen: Chosen, seconds: float, traces: Path, report: Callable[[Result], None]) -> list[Shown]:
    """What becomes of the proofs, each of so many seconds at most."""
    shown = []
    for proof in (*chosen.own, *chosen.short):
        result = run_proof(proof, timeout=seconds, traces=traces)
        shown.append(Shown(result, proof in chosen.own))
        report(result)
    return shown


def reached_by(found: Coverage) -> tuple[dict[str, float], list[str]]:
    """What the tests reach, in percent, and what they do not; a certificate tells of a test that fails by itself."""
    percents = {kind: share.percent for kind, share in found.code.total().shares.items()}
    goals = [not each.holes for each in found.reached]
    percents["functional goals"] = 100 * sum(goals) / len(goals) if goals else 100.0
    return percents, [said for said in found.failures if not said.startswith("the test ")]
