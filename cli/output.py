"""Names and messages from files as a terminal may show them: what controls a terminal is written out.

What commands show to people: progress on standard error, tables and sentences on standard output.

Progress appears on a terminal only and is gone when the work ends. A pipe or a file gets none of it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cdma.base.document import Bullets, Paragraph, Part, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def plain(text: str, *, lines: bool = False) -> str:
    """The text with every character that is not printable as an escape, such as ``\\x1b``; ``lines`` may stay apart."""
    return "".join(
        each
        if each.isprintable() or (lines and each == "\n")
        else each.encode("unicode_escape", "surrogatepass").decode()
        for each in text
    )


#: Seconds of work before a bar over bytes is worth showing.
_PATIENCE = 0.5

#: Characters of a line of output where no terminal says how many there are: no table is wider.
_WIDTH = 100_000

#: Whether a terminal sees progress.
_progress_is_shown = True


class Advance(Protocol):
    """Counts what is done: ``count`` steps more, ``what`` being the last one, if it has a name."""

    def __call__(self, count: int = 1, what: str | None = None) -> None: ...


@contextmanager
def without_progress() -> Iterator[None]:
    """Shows no progress meanwhile."""
    global _progress_is_shown
    before, _progress_is_shown = _progress_is_shown, False
    try:
        yield
    finally:
        _progress_is_shown = before


@contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """Shows a line that says what is going on; the function it gives changes what the line says."""
    from rich.status import Status

    began = time.monotonic()
    with Status("", console=_progress_console()) as line:
        yield lambda step: line.update(f"{step}  [dim]{time.monotonic() - began:.0f} s[/]")


@contextmanager
def byte_progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Shows a bar over ``total`` bytes, after half a second; the function it gives counts bytes that are done."""
    from rich.progress import DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    bar = _bar(DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    task = bar.add_task(what, total=total)
    began = time.monotonic()

    def advance(count: int) -> None:
        bar.advance(task, count)
        if not bar.live.is_started and time.monotonic() - began > _PATIENCE:
            bar.start()

    try:
        yield advance
    finally:
        bar.stop()


@contextmanager
def step_progress(what: str, total: int) -> Iterator[Advance]:
    """Shows a bar over ``total`` steps; the function it gives counts steps that are done."""
    from rich.progress import MofNCompleteColumn, TimeElapsedColumn

    with _bar(MofNCompleteColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task(what, total=total)

        def advance(count: int = 1, what: str | None = None) -> None:
            bar.update(task, advance=count, description=what)

        yield advance


@contextmanager
def part_progress() -> Iterator[Callable[[str, float], None]]:
    """Shows a bar; the function it gives takes what is done now and which part, 0 to 1, is done in all."""
    from rich.progress import TaskProgressColumn, TimeRemainingColumn

    with _bar(TaskProgressColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, part: bar.update(task, description=what, completed=part)


def output() -> Console:
    """Standard output, as wide as the terminal; where it is no terminal, no line is broken, cut or filled with spaces."""
    from rich.console import Console

    class Piped(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            with self.capture() as said:
                super().print(*objects, **options)
            print(*(line.rstrip(" ") for line in said.get().split("\n")), sep="\n", end="", file=self.file)

    console = Console(highlight=False)
    return console if console.is_terminal else Piped(highlight=False, width=_WIDTH)


def warn(message: str) -> None:
    """Says on standard error what is allowed and most often not meant."""
    print(f"cdma: warning: {plain(message)}", file=sys.stderr)


def cell(name: str) -> str:
    """A name from a file for a table: nothing in it controls the terminal, or is taken for the table's markup."""
    from rich.markup import escape

    return escape(plain(name))


def program_name() -> str:
    """How a shell calls this very program from here: by its name where PATH has it, else by its path."""
    program, found = Path(sys.argv[0]), shutil.which("cdma")
    if program.name != "cdma" or (found is not None and program.exists() and program.samefile(found)):
        return "cdma"
    return shlex.quote(os.path.relpath(program))


def show_part(part: Part | str) -> None:
    """Prints a part of a result: sentences as they are, and a table without lines but those it asks for."""
    match part:
        case str() | Paragraph():
            print(part if isinstance(part, str) else part.text)
        case Bullets():
            print("\n".join(f"  {item}" for item in part.items))
        case Table():
            _show_table(part)


def _show_table(part: Table) -> None:
    """Nothing in its cells controls the terminal, or is taken for markup."""
    from rich.table import Table as RichTable

    table = RichTable(box=None, pad_edge=False, show_header=any(part.titles))
    for position, title in enumerate(part.titles):
        table.add_column(cell(title), justify="right" if position in part.numbers else "left")
    for number, row in enumerate(part.rows):
        if number in part.lines:
            table.add_section()
        table.add_row(*map(cell, row))
    output().print(table)


def _bar(*columns: object) -> Progress:
    """A bar on standard error with what it counts before it, and ``columns`` after it."""
    from rich.progress import BarColumn, Progress, TextColumn

    console = _progress_console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,  # type: ignore[arg-type]
        console=console,
        transient=True,
        # Rows that come meanwhile are of standard output, which need not be where the bar is.
        redirect_stdout=sys.stdout.isatty(),
        disable=console.quiet or not console.is_terminal,
    )


def _progress_console() -> Console:
    from rich.console import Console

    return Console(stderr=True, quiet=not _progress_is_shown)
