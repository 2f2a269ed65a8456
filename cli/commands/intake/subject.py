"""The block that is taken in, and what has been found out about it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.document import Part
from cdma.commands.generate.block import Made
from cdma.hdl.spec.codec import BLOCKS
from cdma.options import ENGINE
from cdma.result import Result
from cdma.verif.proofs.proof import FAILURES

from .line import FAILS, SHOWN, Line
from .record import Stored

if TYPE_CHECKING:
    from cdma.verif.simulator.simulate import Design

#: The commands that take a design without initial values as such.
_WITH_INIT = ("generate", "intake", "verify", "coverage")


@dataclass(frozen=True)
class Subject:
    """A block with its parameters.

    ``design``, ``made``: Are it as a bench and as ``cdma generate`` have it.
    ``date``, ``revision``: Are today and the revision of the generator.
    ``stored``: Are the project's records of it.
    ``other_text``: The file of its name that lies in the folder is another one.
    """

    design: Design
    made: Made
    date: str
    revision: str
    stored: Sequence[Stored]
    other_text: bool = False
    #: What came of the parts that ran.
    ran: dict[str, Result] = field(default_factory=dict)
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

    @property
    def area_command(self) -> str:
        """The command that measures its area."""
        return self.command("area", "--clock-gating --no-breakdown")

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
        run, proven = self.ran.get("tests"), self.ran.get("proofs")
        outcomes = [row for row in run.data["tests"] if row["test"] in names] if run else []
        results = [row for row in proven.data if row["property"] in proofs] if proven else []
        fails = [f"test {row['test']} failed" for row in outcomes if row["failure"] is not None]
        fails += [f"proof {row['property']}: {row['status']}" for row in results if row["status"] in FAILURES]
        if fails or len(outcomes) == len(names):
            return self.shown(key, title, commands, answer, *parts, fails=fails)
        return Line(key, title, commands, answer, parts)

    def _tests(self) -> list[str]:
        from cdma.verif.campaigns.regression import plan_of

        return [point.name for point in plan_of(self.design).choose(self.design)]
