"""How much a command says: ``--quiet`` and ``--verbose``, which every command takes."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout

from .output import without_progress

__all__ = ["add_talk_options", "commands_of", "talking"]

#: Options whose output a script asked for, and which ``--quiet`` therefore leaves alone.
_ASKED_FOR = ("json", "markdown", "list")


def add_talk_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--quiet`` and ``--verbose`` to every command of a parser."""
    for command in commands_of(parser):
        group = command.add_argument_group("messages").add_mutually_exclusive_group()
        group.add_argument(
            "-q", "--quiet", action="store_true", help="print errors alone, and what --json or --list ask for"
        )
        group.add_argument(
            "-v",
            "--verbose",
            action="store_true",
            help="say which tools run and what comes from the cache; of an error of the program, say where",
        )


def commands_of(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers that do something: this one, or those of all of its commands."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield parser
    for action in inner:
        # A command of several names has one parser.
        for command in dict.fromkeys(action.choices.values()):
            yield from commands_of(command)


@contextmanager
def talking(arguments: argparse.Namespace) -> Iterator[None]:
    """Says as much as ``--quiet`` or ``--verbose`` want while a command runs."""
    with ExitStack() as stack:
        if arguments.verbose:
            stack.enter_context(_logging())
        if arguments.quiet:
            stack.enter_context(without_progress())
            if not any(getattr(arguments, name, False) for name in _ASKED_FOR):
                stack.enter_context(redirect_stdout(stack.enter_context(open(os.devnull, "w"))))
        yield


@contextmanager
def _logging() -> Iterator[None]:
    """Shows what the package logs, a line each, on standard error."""
    log, handler = logging.getLogger("cdma"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
