"""Rows of measurements as a table, as JSON or as Markdown."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

__all__ = ["Columns", "Row", "add_row_options", "show_rows"]

Row = dict[str, Any]
#: What a table shows of a row, by the title of the column.
Columns = Mapping[str, Callable[[Row], str]]


def add_row_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`show_rows` reads."""
    output = parser.add_mutually_exclusive_group()
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
    lines = [[cell(row) for cell in columns.values()] for row in rows]
    if arguments.markdown:
        for number, cells in enumerate(markdown(rows) if markdown else [list(columns), *lines]):
            print("| " + " | ".join(cells) + " |")
            if number == 0:
                print("|" + "---|" * texts + "---:|" * (len(cells) - texts))
        return

    from cdma.output import new_table, output

    table = new_table(*columns, texts=texts)
    for _, members in groupby(zip(rows, lines, strict=True), lambda each: group(each[0])):
        for _, cells in members:
            table.add_row(*cells)
        table.add_section()
    output().print(table)
