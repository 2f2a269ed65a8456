"""The block that is taken in, and what has been found out about it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.commands.generate.made import Made
from cdma.hdl.deliver.document import Part
from cdma.hdl.spec.codec import BLOCKS
from cdma.options import ENGINE
from cdma.verif.proofs.proof import FAILURES

from .line import FAILS, SHOWN, Line
from .stored import Stored

if TYPE_CHECKING:
    from cdma.synth.asic.measure import Measurement
    from cdma.synth.asic.netlist import Structure
    from cdma.verif.campaigns.certificate.finding import Finding, Shown
    from cdma.verif.campaigns.coverage.code import Coverage
    from cdma.verif.campaigns.faults.verdict import Tally
    from cdma.verif.campaigns.mutation.campaign import Verdict
    from cdma.verif.campaigns.regression import Regression
    from cdma.verif.simulator.build import Lint
    from cdma.verif.simulator.simulate import Design

__all__ = ["Proven", "Ran", "Speed", "Subject"]

#: The commands that take a design without initial values as such.
_WITH_INIT = ("generate", "intake", "verify", "coverage")


@dataclass(frozen=True)
class Speed:
    """What was measured in simulation.

    ``latency``, ``throughput``
        Are the rows of both; of a codec or a stage the same rows.
    ``waveform``
        Is the SVG of one descriptor of an engine.
    """

    latency: Sequence[dict[str, Any]]
    throughput: Sequence[dict[str, Any]]
    waveform: str = ""


@dataclass(frozen=True)
class Proven:
    """What became of proofs, and the names of those that take long and were not run."""

    shown: Sequence[Shown]
    long: Sequence[str]


@dataclass
class Ran:
    """What each part that ran has given; None of one that did not."""

    lint: Lint | None = None
    netlist: Structure | None = None
    speed: Speed | None = None
    area: Measurement | None = None
    tests: Regression | None = None
    gates: Regression | None = None
    four_states: Regression | None = None
    coverage: Coverage | None = None
    proofs: Proven | None = None
    mutants: Sequence[Verdict] | None = None
    faults: Mapping[str, Tally] | None = None


@dataclass(frozen=True)
class Subject:
    """A block with its parameters.

    ``design``, ``made``
        Are it as a bench and as ``cdma generate`` have it.
    ``date``, ``revision``
        Are today and the revision of the generator.
    ``stored``
        Are the project's records of it.
    ``other_text``
        The file of its name that lies in the folder is another one.
    """

    design: Design
    made: Made
    date: str
    revision: str
    stored: Sequence[Stored]
    other_text: bool = False
    ran: Ran = field(default_factory=Ran)
    #: The folder that takes counterexamples.
    folder: Path = Path()

    @property
    def block(self) -> str:
        """Its kind."""
        return self.design.block

    @property
    def sha256(self) -> str:
        """The hash of its Verilog."""
        return hashlib.sha256(self.made.block.design.text.encode()).hexdigest()

    @property
    def is_engine(self) -> bool:
        """Whether it has AXI4 ports, and not streams alone."""
        return self.block == ENGINE

    @property
    def is_codec(self) -> bool:
        """Whether it is a compressor or a decompressor."""
        return self.block in BLOCKS

    def command(self, name: str, *more: str) -> str:
        """The command line about this very block; of a bench, which names it itself, with its parameters alone."""
        block = "" if name.startswith("bench") else self.block
        options = self.design.options().split(" ")
        if name not in _WITH_INIT:
            options = [option for option in options if option != "--no-init"]
        return " ".join(filter(None, ["cdma", name, block, *options, *more]))

    def shown(
        self, key: str, title: str, commands: Sequence[str], answer: str, *parts: Part, **more: Any
    ) -> Line:
        """A line that this run shows; it fails if ``fails`` has anything."""
        status = FAILS if more.get("fails") else SHOWN
        return Line(
            key, title, commands, answer, parts, status, date=self.date, revision=self.revision, **more
        )

    def of_finding(
        self, key: str, title: str, commands: Sequence[str], answer: str, finding: Finding, *parts: Part
    ) -> Line:
        """A line of the certificate."""
        more = {"fails": finding.fails, "open": finding.open, "data": finding.data}
        return self.shown(key, title, commands, answer, *parts, **more)

    def by_verification(
        self,
        key: str,
        title: str,
        answer: str,
        *parts: Part,
        tests: Sequence[str] = (),
        proofs: Sequence[str] = (),
    ) -> Line:
        """A line that the regression shows, or those of its ``tests`` that are named.

        It is shown where all of these ran, and fails if one of them did, or one of the ``proofs``, which say more of blocks.
        """
        names = [name for name in self._tests() if not tests or name in tests]
        commands = [self.command("verify", *(["--tests", *names] if tests else []))]
        if proofs:
            commands.append(f"cdma prove {' '.join(proofs)}")
        run, proven = self.ran.tests, self.ran.proofs
        outcomes = [each for each in run.outcomes if each.test in names] if run else []
        results = [each.result for each in proven.shown if each.result.property in proofs] if proven else []
        fails = [f"test {each.test} failed" for each in outcomes if each.failure is not None]
        fails += [f"proof {each.property}: {each.status}" for each in results if each.status in FAILURES]
        if fails or len(outcomes) == len(names):
            return self.shown(key, title, commands, answer, *parts, fails=fails)
        return Line(key, title, commands, answer, parts)

    def _tests(self) -> list[str]:
        from cdma.verif.campaigns.regression import plan_of

        return [point.name for point in plan_of(self.design).choose(self.design)]
