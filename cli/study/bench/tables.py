"""Tables of the study's benches."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from cdma.rows import Columns, Row, show_rows

__all__ = ["show_table"]


def show_table(
    arguments: argparse.Namespace,
    rows: Sequence[Row],
    columns: Columns,
    *,
    texts: int,
    group: Callable[[Row], object],
) -> None:
    """Shows rows of a bench as the ``arguments`` want them; Markdown has the columns that people see."""
    titles = list(columns)
    show_rows(
        arguments,
        rows,
        columns=columns,
        texts=texts,
        group=group,
        markdown=lambda table: iter([titles, *([cell(row) for cell in columns.values()] for row in table)]),
    )
