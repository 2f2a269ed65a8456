"""The page of the commands, made from their parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from cdma.app import parser
from cdma.streams import commands_of

from .markdown import shown, table

_WIDTH = 100


def commands_page() -> str:
    """Every command with its options."""
    whole = parser()
    parts = [
        "# Commands\n",
        "Made from the parsers of the program. `cdma COMMAND --help` says the same.\n",
    ]
    for command in commands_of(whole):
        parts += _command(command)
    return "\n".join(parts)


def _command(command: argparse.ArgumentParser) -> Iterator[str]:
    formatter = argparse.HelpFormatter(command.prog, width=_WIDTH)
    formatter.add_usage(command.usage, command._actions, command._mutually_exclusive_groups)
    yield f"## {command.prog}\n"
    if command.description:
        yield shown(" ".join(command.description.split())) + "\n"
    yield f"```text\n{formatter.format_help().strip()}\n```\n"
    for group in command._action_groups:
        options = [each for each in group._group_actions if each.help is not argparse.SUPPRESS]
        if options:
            yield f"**{shown(group.title or 'options')}**\n"
            yield (
                table(("option", "meaning"), [(_name(each), _help(formatter, each)) for each in options])
                + "\n"
            )
    if command.epilog and command.epilog.startswith("examples:"):
        lines = (line.strip() for line in command.epilog.splitlines()[1:])
        yield "Examples:\n\n```sh\n" + "\n".join(lines) + "\n```\n"


def _name(option: argparse.Action) -> str:
    names = option.option_strings or [str(option.metavar or option.dest)]
    if not option.option_strings or option.nargs == 0:
        return ", ".join(f"`{name}`" for name in names)
    value = option.metavar or (
        "{" + ",".join(map(str, option.choices)) + "}" if option.choices else option.dest.upper()
    )
    return ", ".join(f"`{name} {value}`" for name in names)


def _help(formatter: argparse.HelpFormatter, option: argparse.Action) -> str:
    return shown(" ".join(formatter._expand_help(option).split())) if option.help else ""
