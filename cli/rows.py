"""How long a command works, and how much of that it reads and writes files. Tables for people, as JSON and as Markdown,
and rows of measurements in them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, cast

from cdma.files import replacing

__all__ = [
    "Columns",
    "FileTime",
    "Growing",
    "Row",
    "Table",
    "add_row_options",
    "column",
    "named",
    "show_rows",
    "tell",
    "telling_at_the_end",
    "timing",
]


class FileTime:
    """Counts seconds from here on, and those of them that the files which go through :meth:`of` take to read and write."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._in_files = 0.0

    def of(self, file: BinaryIO) -> BinaryIO:
        """The same file, whose time counts."""
        return cast(BinaryIO, _Timed(file, self))

    @contextmanager
    def replacing(self, path: Path, source: Path | None = None) -> Iterator[BinaryIO]:
        """Opens a file as :func:`.files.replacing` does; that it takes the place of another one counts too."""
        with ExitStack() as stack:
            yield self.of(stack.enter_context(replacing(path, source)))
            began = time.perf_counter()
            stack.close()
            self._in_files += time.perf_counter() - began

    def so_far(self) -> dict[str, float]:
        """The seconds until now, for scripts."""
        return {"seconds": time.perf_counter() - self._began, "file_seconds": self._in_files}

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose time counts."""

        @wraps(function)
        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self._in_files += time.perf_counter() - began

        return timed


class _Timed:
    """A file that is read and written through functions whose time counts, and that does all else as before."""

    def __init__(self, file: BinaryIO, time: FileTime) -> None:
        self._file = file
        for name in ("read", "readinto", "write"):
            setattr(self, name, time.counted(getattr(file, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def timing(summary: Mapping[str, Any]) -> str:
    """The seconds of :meth:`FileTime.so_far`, for people."""
    return f"in {summary['seconds']:.2f} s, {summary['file_seconds']:.2f} of them reading and writing"


Row = dict[str, Any]
#: What a table shows of a row, by the title of the column.
Columns = Mapping[str, Callable[[Row], str]]


@dataclass(frozen=True)
class Table:
    """Rows of cells, whose first ``texts`` columns are words; a line stands above the rows with the numbers ``lines``."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    lines: Collection[int] = ()

    def show(self) -> None:
        """Prints it for people. Cells may have the markup of rich."""
        from cdma.output import new_table, output

        table = new_table(*self.titles, texts=self.texts)
        for number, row in enumerate(self.rows):
            if number in self.lines:
                table.add_section()
            table.add_row(*row)
        output().print(table)

    def markdown(self) -> str:
        """It as Markdown."""
        rule = "|" + "---|" * self.texts + "---:|" * (len(self.titles) - self.texts)
        titles, *rows = (f"| {' | '.join(row)} |" for row in (self.titles, *self.rows))
        return "\n".join([titles, rule, *rows])


class Growing:
    """A table whose rows are printed as they come, from any thread, also into a pipe; none where ``shown`` is false.

    ``head``
        A line above it.
    ``widths``
        Of the first columns, which are words; all others are numbers, of ten characters or as many as their title.
    """

    def __init__(
        self, titles: Sequence[str], widths: Sequence[int], *, head: str = "", shown: bool = True
    ) -> None:
        self._titles, self._widths, self._head, self._shown = titles, widths, head, shown
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
def telling_at_the_end(arguments: argparse.Namespace, tell_so_far: Callable[[], None]) -> Iterator[None]:
    """Where the block is ended from outside, says what was found so far.

    A script, which asks for JSON or Markdown, wants all or nothing.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if not (arguments.json or getattr(arguments, "markdown", False)):
            tell_so_far()
        raise


def column(key: str, form: str = "") -> Callable[[Row], str]:
    """The value of a row, in the ``form`` that :func:`format` takes; nothing where it is None."""
    return lambda row: "" if row[key] is None else format(row[key], form)


def named(*keys: str) -> Columns:
    """Columns that show values of a row as they are, under their own names."""
    return {key: column(key) for key in keys}


def add_row_options(group: Any) -> None:
    """Adds the options that :func:`show_rows` reads."""
    output = group.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the rows as JSON")
    output.add_argument("--markdown", action="store_true", help="print a Markdown table, as in the documents")


def show_rows(
    arguments: argparse.Namespace,
    rows: Sequence[Row],
    *,
    columns: Columns,
    texts: int,
    group: Callable[[Row], object],
    markdown: Callable[[Sequence[Row]], Iterable[Sequence[str]]] | None = None,
) -> None:
    """Prints the rows as the ``arguments`` want them.

    ``columns``
        Are the columns of the table for people, of which the first ``texts`` are words.
    ``group``
        Gives what rows between two lines have in common.
    ``markdown``
        Gives the titles and then the rows of the table for documents, whose first ``texts`` columns are words; by default
        it has the columns of the table for people.
    """
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    if arguments.markdown:
        titles, *lines = markdown(rows) if markdown else [list(columns), *cells]
        print(Table(titles, lines, texts).markdown())
        return

    from cdma.output import cell as shown

    breaks = {number for number in range(1, len(rows)) if group(rows[number]) != group(rows[number - 1])}
    Table(list(columns), [[*map(shown, line)] for line in cells], texts, breaks).show()


def tell(
    arguments: argparse.Namespace,
    holds: bool,
    *,
    json_of: Callable[[], Any],
    show: Callable[[], None],
    markdown: Callable[[], str] | None = None,
) -> int:
    """Prints JSON, Markdown or what is for people, as was asked for; the status of the command."""
    if arguments.json:
        print(json.dumps(json_of(), indent=2))
    elif markdown is not None and arguments.markdown:
        print(markdown())
    else:
        show()
    return 0 if holds else 1
