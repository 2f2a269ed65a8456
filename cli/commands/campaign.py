"""What the commands of campaigns share: who works, what an argument may be, and how what came of it is told."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cdma.base.errors import ParameterError

__all__ = ["Rows", "add_jobs_option", "check_one_or_more", "tell"]


def add_jobs_option(group: Any, what: str) -> None:
    """Adds the option that says how many of ``what`` there are at once."""
    group.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help=f"{what} at once (default: one per processor)",
    )


def check_one_or_more(arguments: argparse.Namespace, *names: str) -> None:
    """Refuses arguments that are given and less than 1."""
    for name in names:
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise ParameterError(f"{name} is {value}; it must be 1 or more")


@dataclass(frozen=True)
class Rows:
    """A table whose first ``texts`` columns are words; with ``total``, its last row is the sum of the others."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    total: bool = False

    def show(self) -> None:
        """Prints it for a terminal."""
        from cdma.output import new_table, output

        table = new_table(*self.titles, texts=self.texts)
        for number, row in enumerate(self.rows, start=1):
            if self.total and number == len(self.rows):
                table.add_section()
            table.add_row(*row)
        output().print(table)

    def markdown(self, rules: str = "---|") -> None:
        """Prints it as Markdown, with such a rule below each number."""
        numbers = len(self.titles) - self.texts
        print(f"| {' | '.join(self.titles)} |\n|{'---|' * self.texts}{rules * numbers}")
        for row in self.rows:
            print(f"| {' | '.join(row)} |")


def tell(
    arguments: argparse.Namespace,
    holds: bool,
    *,
    json_of: Callable[[], Any],
    show: Callable[[], None],
    markdown: Callable[[], None] | None = None,
) -> int:
    """Prints JSON, Markdown or what is for people, as was asked for; the status of the command."""
    if arguments.json:
        print(json.dumps(json_of(), indent=2))
    elif markdown is not None and arguments.markdown:
        markdown()
    else:
        show()
    return 0 if holds else 1
