"""Commands as data: a name, options, examples, and the function that gives the result, which :mod:`cdma.result` shows.

Wings of this project, and distributions of others, add commands: each names a module by an entry point of the group
``cdma.commands``. The module has, as it likes,

``COMMANDS``, ``BENCHES``
    Names of modules with a ``COMMAND``, a :class:`Command`, for ``cdma`` and for ``cdma bench``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from .result import Result


@dataclass(frozen=True)
class Option:
    """An argument of a command: its names, and what ``argparse`` is told of it."""

    names: Sequence[str]
    settings: Mapping[str, Any]

    def but(self, **settings: Any) -> Option:
        """The same with other settings."""
        return Option(self.names, {**self.settings, **settings})


#: Options by the title of their group, "" or blanks for none; what follows a colon describes the group. Those of a
#: tuple exclude each other; if one is required, one of them is.
Options = Mapping[str, Sequence[Option | tuple[Option, ...]]]


def option(words: str, help: str, value: Any = str, **settings: Any) -> Option:
    """An argument with a value.

    ``words``: Are its names, such as ``--packets --transfers N``; the last word may be how ``--help`` calls the value,
        with ``+``, ``*`` or ``?`` behind it for several values.
    ``help``: Gets the default behind it, unless it tells of one.
    ``value``: Is the type, or the default, whose type it then is.
    """
    *names, metavar = words.split()
    if not names or metavar.startswith("-"):
        names.append(metavar)
    else:
        settings["metavar"] = metavar.rstrip("+*?")
        if metavar[-1] in "+*?":
            settings["nargs"] = metavar[-1]
    kind = value
    if not callable(value):
        settings["default"] = value
        several = isinstance(value, list)
        kind = type(value[0] if several else value)
        if "default" not in help and f"({value})" not in help:
            shown = value if several else [value]
            help += f" (default {' '.join(f'{each:g}' if kind is float else str(each) for each in shown)})"
    if kind is not str:
        settings["type"] = Path if isinstance(value, Path) else kind
    return Option(names, {"help": help, **settings})


def flag(name: str, help: str, **settings: Any) -> Option:
    """An argument without a value."""
    return Option([name], {"help": help, "action": "store_true", **settings})


#: What rows of measurements can be printed as.
ROWS = (
    flag("--json", "print the rows as JSON"),
    flag("--markdown", "print the table in Markdown"),
)


@dataclass(frozen=True)
class Command:
    """A command, or several under one name.

    ``name``, ``help``, ``description``: Are its name, its line in the list of commands, and what its own ``--help``
        says.
    ``run``: Makes the result of the parsed arguments; None where there are ``commands``.
    ``examples``: Are what may follow the name, a line each.
    ``fixed``: Are arguments that the command has and the user does not choose.
    ``commands``, ``title``: Are the commands below this one, and what they are called together: blocks, benches, modes.
    """

    name: str
    help: str
    description: str
    run: Callable[[argparse.Namespace], Result] | None = None
    options: Options = field(default_factory=dict)
    examples: Sequence[str] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    commands: Sequence[Command] = ()
    title: str = "blocks"

    def add_to(self, subparsers: Any) -> None:
        """Makes its parser."""
        parser = subparsers.add_parser(self.name, help=self.help, description=self.description)
        add_options(parser, self.options)
        if self.commands:
            metavar = {"benches": "BENCH", "what to tune": "WHAT"}.get(self.title, self.title[:-1].upper())
            inner = parser.add_subparsers(title=self.title, metavar=metavar, required=True)
            for command in self.commands:
                command.add_to(inner)
            return
        parser.set_defaults(run=self.run, **self.fixed)
        lines = (f"{parser.prog} {line}".rstrip() for line in self.examples)
        parser.epilog = "\n  ".join(["examples:", *lines])


def add_options(parser: argparse.ArgumentParser, options: Options) -> None:
    """Adds options to a parser."""
    for title, group in options.items():
        heading, _, told = title.partition(": ")
        _add(parser.add_argument_group(heading, told or None) if title.strip() else parser, group)


def _add(group: Any, options: Sequence[Option | tuple[Option, ...]]) -> None:
    for each in options:
        if isinstance(each, tuple):
            one = any(option.settings.get("required") for option in each)
            inner = group.add_mutually_exclusive_group(required=one)
            _add(inner, [option.but(required=False) if one else option for option in each])
        else:
            group.add_argument(*each.names, **each.settings)


def modules(attribute: str) -> Iterator[ModuleType]:
    """The modules that wings name by an ``attribute``, wing by wing in the order of their names."""
    for wing in _wings():
        yield from (import_module(name) for name in getattr(wing, attribute, ()))


@cache
def _wings() -> tuple[Any, ...]:
    found = sorted(entry_points(group="cdma.commands"), key=lambda entry: entry.name)
    return tuple(wing for wing in map(_loaded, found) if wing)


def _loaded(entry: EntryPoint) -> Any:
    """The module of an entry point; None where the package that has it was taken away, as a folder can be."""
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        if error.name != entry.module.partition(".")[0]:
            raise
        return None
