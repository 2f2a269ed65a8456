"""What a command found, shown as text, as JSON or as Markdown. Tables of measurements, and tables that grow as they come."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from cdma.base.document import Paragraph, Part, Table, as_markdown

Row = dict[str, Any]
#: What a table shows of a row, by the title of the column.
Columns = Mapping[str, Callable[[Row], str]]


@dataclass(frozen=True)
class Result:
    """What a command found.

    ``data``: Is what ``--json`` prints.
    ``parts``: Are what is shown, sentences and tables; made when somebody looks.
    ``holds``: Says whether the status is 0.
    ``document``: Is what a document has of it, which ``--markdown`` prints, if that is not ``parts``.
    ``answer``, ``fails``, ``open``: Are, for an intake, the answer in a sentence, what does not hold, and what was not
        done or not reached.
    """

    data: Any
    parts: Iterable[Part | str] = ()
    holds: bool = True
    document: Iterable[Part | str] | None = None
    answer: str = ""
    fails: Sequence[str] = ()
    open: Sequence[str] = ()

    def pages(self) -> list[Part]:
        """What a document has of it."""
        parts = self.parts if self.document is None else self.document
        return [Paragraph(part) if isinstance(part, str) else part for part in parts]


def show(result: Result, arguments: argparse.Namespace) -> int:
    """Prints a result in the form that was asked for; the status of the command."""
    if getattr(arguments, "json", False):
        print(json.dumps(result.data, indent=2))
    elif getattr(arguments, "markdown", False):
        print(as_markdown(result.pages()).rstrip("\n"))
    else:
        from .output import show_part

        for part in result.parts:
            show_part(part)
    return 0 if result.holds else 1


def rows_result(
    rows: Sequence[Row],
    columns: Columns,
    texts: int,
    group: Callable[[Row], object],
    *,
    data: Any = None,
    holds: bool = True,
) -> Result:
    """A table of measurements, whose first ``texts`` columns are words.

    ``group``: Gives what rows between two lines have in common.
    ``data``: Is what JSON has, if not the rows.
    """

    def table() -> Iterator[Table]:
        cells = [[cell(row) for cell in columns.values()] for row in rows]
        breaks = {number for number in range(1, len(rows)) if group(rows[number]) != group(rows[number - 1])}
        yield Table(list(columns), cells, range(texts, len(columns)), breaks)

    return Result(rows if data is None else data, table(), holds)


def column(key: str, form: str = "") -> Callable[[Row], str]:
    """The value of a row, in the ``form`` that :func:`format` takes; nothing where it is None."""
    return lambda row: "" if row[key] is None else format(row[key], form)


def named(*keys: str) -> Columns:
    """Columns that show values of a row as they are, under their own names."""
    return {key: column(key) for key in keys}


class Growing:
    """A table whose rows are printed as they come, from any thread, also into a pipe; none for a script, which asks for JSON
    or Markdown.

    ``head``: A line above it.
    ``widths``: Of the first columns, which are words; all others are numbers, of ten characters or as many as their
        title.
    """

    def __init__(
        self, arguments: argparse.Namespace, titles: Sequence[str], widths: Sequence[int], head: str = ""
    ) -> None:
        self._shown = not _for_a_script(arguments)
        self._titles, self._widths, self._head = titles, widths, head
        self._lock = Lock()
        self._begun = False

    def add(self, row: Sequence[str]) -> None:
        """Prints a row; the titles before the first one."""
        if not self._shown:
            return
        with self._lock:
            if not self._begun:
                if self._head:
                    print(self._head)
                self._print(self._titles)
                self._begun = True
            self._print(row)

    def _print(self, row: Sequence[str]) -> None:
        words = len(self._widths)
        cells = [f"{cell:{width}}" for cell, width in zip(row, self._widths, strict=False)]
        for title, cell in zip(self._titles[words:], row[words:], strict=True):
            cells.append(f"{cell:>{max(len(title), 10)}}")
        print("  ".join(cells).rstrip(), flush=True)


@contextmanager
def telling_at_the_end(
    arguments: argparse.Namespace, so_far: Callable[[], Iterable[Part | str]]
) -> Iterator[None]:
    """Where the block is ended from outside, shows what was found so far. A script wants all or nothing."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if not _for_a_script(arguments):
            show(Result(None, so_far()), argparse.Namespace())
        raise


def _for_a_script(arguments: argparse.Namespace) -> bool:
    return bool(arguments.json or getattr(arguments, "markdown", False))
