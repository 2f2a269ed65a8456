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
    """Adds ``--quiet`` and ``--verbose`` to a parser and to its commands, so that they may stand before a command, too."""
    parser.set_defaults(quiet=False, verbose=False)
    for each in _parsers_of(parser):
        group = each.add_argument_group("messages").add_mutually_exclusive_group()
        # Without a default of its own, no command takes back what stands before it.
        group.add_argument(
            "-q",
            "--quiet",
            action="store_true",
            default=argparse.SUPPRESS,
            help="print errors alone, and what --json or --list ask for",
        )
        group.add_argument(
            "-v",
            "--verbose",
            action="store_true",
            default=argparse.SUPPRESS,
            help="say which tools run and what comes from the cache; of an error of the program, say where",
        )


def commands_of(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers that do something: this one, or those of all of its commands."""
    return (each for each in _parsers_of(parser) if not _inner(each))


def _parsers_of(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and those of all of its commands."""
    yield parser
    for each in _inner(parser):
        yield from _parsers_of(each)


def _inner(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parsers of its commands; a command of several names has one."""
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return list(dict.fromkeys(each for action in actions for each in action.choices.values()))


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
