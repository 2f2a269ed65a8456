"""The block that is taken in, and the lines of its intake: an answer, the command that shows it, and whether that was
run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base import document
from cdma.base.document import Part
from cdma.files import FileError
from cdma.hdl.spec.codec import BLOCKS
from cdma.options import ENGINE
from cdma.result import Result

if TYPE_CHECKING:
    from cdma.commands.generate.block import Made
    from cdma.commands.intake.record import Stored
    from cdma.verif.simulator.simulate import Design

#: Shown by this very run; by an earlier one that is on record; by nothing; and what was shown is that it does not hold.
SHOWN, RECORD, NOT_SHOWN, FAILS = "shown", "from a record", "not shown", "fails"
STATUSES = (SHOWN, RECORD, NOT_SHOWN, FAILS)


@dataclass(frozen=True)
class Line:
    """One question of the meeting.

    ``key``, ``title``: Name it, for scripts and for people.
    ``commands``: Show it, or would.
    ``answer``: Is the answer in a sentence.
    ``parts``: Say more.
    ``status``: Is one of :data:`STATUSES`.
    ``date``, ``revision``: Say when it was shown, and of which revision; empty where it was not.
    ``fails``, ``open``: Say what does not hold, and what was not done or not reached, a sentence each.
    ``data``: Is what was measured, for scripts.
    ``nearest``: Says that nothing can show it, and the commands are what comes nearest.
    """

    key: str
    title: str
    commands: Sequence[str]
    answer: str
    parts: Sequence[Part] = ()
    status: str = NOT_SHOWN
    date: str = ""
    revision: str = ""
    fails: Sequence[str] = ()
    open: Sequence[str] = ()
    data: Any = None
    nearest: bool = False

    def as_json(self) -> dict[str, Any]:
        """For JSON, from which :meth:`of_record` makes it again."""
        parts = [{"kind": type(part).__name__, **asdict(part)} for part in self.parts]
        for table in (part for part in parts if part["kind"] == "Table"):
            # Where a terminal draws them is nothing to keep.
            del table["lines"]
            table["numbers"] = list(table["numbers"])
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "parts": parts}

    @classmethod
    def of_record(cls, kept: Mapping[str, Any]) -> Line:
        """The line that :meth:`as_json` wrote, on record now."""
        fields = dict(kept)
        parts = []
        for part in map(dict, fields.pop("parts")):
            kind = part.pop("kind")
            parts.append(getattr(document, kind)(**part))
        line = cls(**fields, parts=parts)
        return replace(line, status=RECORD) if line.status == SHOWN else line


@dataclass(frozen=True)
class Section:
    """Lines under a title."""

    title: str
    lines: Sequence[Line]


def read_intake(path: Path) -> dict[str, Any]:
    """What an intake wrote, with all ``lines`` that are on record by it; refuses a file that is none."""
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        lines = [Line.of_record(line) for section in told["sections"] for line in section["lines"]]
        return {**{name: told[name] for name in ("sha256", "block", "config")}, "lines": lines}
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(f"cannot read {path}: it is not what cdma intake writes") from None


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
        from cdma.verif.proofs.proof import FAILURES

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
