"""The ``cdma`` command: finds the subcommands, and turns what users get wrong into one sentence and status 2."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from cdma.hdl.spec.errors import CdmaError

from ._version import __version__
from .termination import terminating_cleanly

__all__ = ["main"]

#: Modules of ``commands/``, in the order that ``--help`` shows. Each has ``register(subparsers)``, which adds
#: its parser and sets ``run`` to a function from the parsed arguments to an exit status. Registering must be
#: quick: what is heavy to import is imported by ``run``.
_COMMANDS = (
    "demo",
    "generate",
    "verify",
    "coverage",
    "prove",
    "mutate",
    "faults",
    "soak",
    "wave",
    "area",
    "fpga",
    "compress",
    "decompress",
    "formats",
    "bench",
    "profile",
    "characterise",
    "model",
)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other error of the command."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (try {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="cdma",
        description="Generate, verify and measure a compressing DMA engine.",
        epilog="Every command explains itself: cdma COMMAND --help.",
    )
    parser.add_argument("--version", action="version", version=f"cdma {__version__}")
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=_Parser
    )
    for module in _COMMANDS:
        import_module(f".commands.{module}", __package__).register(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: 0 fine, 1 a check failed, 2 it was asked for the impossible."""
    arguments = _parser().parse_args(argv)
    try:
        # So that files that are half written vanish, and tools that were started end with the command.
        with terminating_cleanly():
            return int(arguments.run(arguments))
    except CdmaError as error:
        print(f"cdma: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("cdma: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`cdma ... | head`); nothing is left to say, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
