"""The ``cdma`` command: finds the subcommands, and turns what users get wrong into one sentence and status 2."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from cdma.base.errors import CdmaError, extra_of, install_command

from ._version import __version__
from .command import modules
from .output import plain
from .result import show
from .streams import add_talk_options, ready_streams, talking, terminating_cleanly

#: Modules of ``commands/``, in the order that ``--help`` shows; those of the wings come behind them. Each has a ``COMMAND``,
#: and is quick to import: what is heavy is imported when it runs.
_COMMANDS = (
    "commands.demo", "commands.generate.command", "commands.intake.command", "commands.verify",
    "commands.coverage", "commands.prove", "commands.mutate", "commands.faults", "commands.soak",
    "commands.wave", "commands.area.command", "commands.power", "commands.fpga", "commands.compress",
    "commands.decompress", "commands.delta", "commands.patch", "commands.formats", "commands.bench.command",
    "commands.completion",
)  # fmt: skip


class _Help(argparse.HelpFormatter):
    """Leaves examples as they stand, a line each."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:\n") else super()._fill_text(text, width, indent)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other error of the command, and name the command that they are of.

    An option is its whole name: ``--lane`` for ``--lanes`` would become an error on the day that a ``--lane-order`` comes.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": _Help, "allow_abbrev": False, **options})
        self.register("type", Path, _path)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        # What a command does not know would otherwise be an error of the parser above it.
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = difflib.get_close_matches(unknown[0], self._option_string_actions, 1, 0.8)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {plain(message)} (try {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse's own is silent about a text that cannot be written.
        if message:
            file = file or sys.stderr
            file.write(message)
            file.flush()


def _path(text: str) -> Path:
    if not text:
        # For pathlib this is the current directory.
        raise argparse.ArgumentTypeError("'' is no name of a file or a directory")
    if text == "-":
        raise argparse.ArgumentTypeError("'-' is no standard stream here; a file of this name is ./-")
    return Path(text)


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; where no command is named, ``run`` of what it gives is None."""
    whole = _Parser(
        prog="cdma",
        description="Generate, verify and measure a compressing DMA engine.",
        epilog="Every command explains itself: cdma COMMAND --help.",
    )
    whole.add_argument("--version", action="version", version=f"cdma {__version__}")
    whole.set_defaults(run=None)
    subparsers = whole.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    own = (import_module(f".{module}", __package__) for module in _COMMANDS)
    for module in (*own, *modules("COMMANDS")):
        module.COMMAND.add_to(subparsers)
    add_talk_options(whole)
    return whole


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status.

    0: fine. 1: a check failed. 2: it was asked for the impossible. 3: an error in the program itself, whose traceback
    ``--verbose`` shows. From 128 on: it was ended from outside.
    """
    ready_streams()
    verbose = False
    try:
        whole = parser()
        arguments = whole.parse_args(argv)
        if arguments.run is None:
            whole.print_help()
            return 0
        verbose = arguments.verbose
        # So that files that are half written vanish, and tools that were started end with the command.
        with terminating_cleanly(), _leaving_silently(), talking(arguments):
            status = show(arguments.run(arguments), arguments)
            sys.stdout.flush()
            return status
    except BrokenPipeError:
        # The reader of our output has gone (`cdma ... | head`); nothing is left to say, also not at exit.
        _close_output()
        return 141
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    except CdmaError as error:
        return _failed(str(error), 2)
    except ModuleNotFoundError as error:
        if (extra := extra_of(error.name or "")) is None:
            return _unforeseen(error, verbose)
        return _failed(f"{error.name} is not installed; it comes with: {install_command(extra)}", 2)
    except OSError as error:
        # What no command foresaw: a full disk, above all that of the output.
        _close_output()
        where = f" {error.filename}" if error.filename else ""
        return _failed(f"cannot read or write{where}: {error.strerror or error}", 2)
    except MemoryError:
        return _failed("out of memory", 2)
    except Exception as error:
        # PyTorch's, which is not loaded where it is not used.
        if type(error).__name__ == "OutOfMemoryError":
            return _failed(f"the card has not enough memory: {error}".splitlines()[0], 2)
        return _unforeseen(error, verbose)


def _unforeseen(error: Exception, verbose: bool) -> int:
    if verbose:
        traceback.print_exception(error)
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "" if verbose else "; the option -v shows where"
    return _failed(f"an error of cdma itself, please report it{hint}: {said}", 3)


def _failed(message: str, status: int) -> int:
    with contextlib.suppress(OSError):
        print(f"cdma: {plain(message, lines=True)}", file=sys.stderr)
    return status


@contextlib.contextmanager
def _leaving_silently() -> Iterator[None]:
    """Keeps Amaranth from naming each part of a design that was left half made when the block ends badly."""
    try:
        yield
    except BaseException:
        if kind := getattr(sys.modules.get("amaranth.hdl"), "UnusedElaboratable", None):
            warnings.simplefilter("ignore", kind)
        raise


def _close_output() -> None:
    """Discards what standard output still buffers; Python would complain about it at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
