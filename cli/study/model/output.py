"""What the modes of ``cdma model`` print, and the files that they write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path

from cdma.rows import Columns, Row

__all__ = ["named", "print_rows", "ready_output"]


def named(*keys: str) -> Columns:
    """Columns that show a text of a row as it is, under its own name."""
    return {key: itemgetter(key) for key in keys}


def print_rows(rows: Sequence[Row], columns: Columns, *, texts: int, group: Callable[[Row], object]) -> None:
    """Prints rows for people. The first ``texts`` columns are words, and may have names from a user's files."""
    from cdma.output import cell, new_table, output

    table = new_table(*columns, texts=texts)
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and group(before) != group(row):
            table.add_section()
        table.add_row(*(cell(value(row)) for value in columns.values()))
    output().print(table)


def ready_output(path: Path, endings: Sequence[str] = ()) -> None:
    """Refuses a file that cannot be written, before the work on its contents. Its folder need not be there yet."""
    from cdma.files import ready_directory, ready_file

    if path.parent.exists():
        ready_file(path, endings)
    else:
        ready_directory(path.parent)
