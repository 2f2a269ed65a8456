"""A line of an intake: an answer, the command that shows it, and whether that was run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cdma.base import document
from cdma.base.document import Part
from cdma.files import FileError

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
