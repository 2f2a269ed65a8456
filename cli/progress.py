"""Progress of long work, for a person who watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["byte_progress", "part_progress", "status"]

#: Seconds of work before a bar is worth showing.
_PATIENCE = 0.5


@contextmanager
def byte_progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar over ``total`` bytes on stderr; the function it gives is told of every bytes dealt with.

    It appears after half a second, on a terminal only, and is gone when the block ends.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
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
def part_progress() -> Iterator[Callable[[str, float], None]]:
    """A bar on stderr; the function it gives is told what is done now and which part, 0 to 1, is done in all.

    It appears on a terminal only, and is gone when the block ends.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, part: bar.update(task, description=what, completed=part)


@contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what is going on; the function it gives changes what it says.

    It appears on a terminal only, and is gone when the block ends.
    """
    from rich.console import Console
    from rich.status import Status

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: None
        return
    began = time.monotonic()
    with Status("", console=console) as line:
        yield lambda step: line.update(f"{step}  [dim]{time.monotonic() - began:.0f} s[/]")
