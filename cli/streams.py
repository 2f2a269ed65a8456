"""The three streams of the command, made such that every command can rely on them. What happens when somebody ends the
command. How much a command says: ``--quiet`` and ``--verbose``, which every command takes.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import Any

from .output import without_progress


def ready_streams() -> None:
    """Gives closed streams (``>&-``) nothing to read and nowhere to write, and lets the others show any character.

    A descriptor that stays closed would belong to the next file that is opened, and tools would print into it. A
    character that the encoding of a stream does not have appears as an escape.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError, ValueError):
                stream.reconfigure(errors="backslashreplace")


#: What ends a command: a request to end, and a terminal that was closed, where the system has such a thing.
_ENDS = ("SIGTERM", "SIGHUP")


@contextmanager
def terminating_cleanly() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP leave through the ``finally`` clauses; only the main thread can ask for that.

    A hangup that is ignored, as under nohup, stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: Any) -> None:
        sys.exit(128 + number)

    wanted = [number for name in _ENDS if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.getsignal(number) for number in wanted}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
