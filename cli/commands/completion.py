"""``cdma completion``: what makes a shell complete commands and options."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["register"]

_SHELLS = ("bash", "zsh", "fish", "tcsh")


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "completion",
        help="print what makes a shell complete commands and options",
        description="Print the completion of a shell, for a file that the shell reads when it starts.",
    )
    parser.add_argument("shell", choices=_SHELLS, help="the shell")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    import shtab

    from cdma.app import parser

    print(shtab.complete(parser(), arguments.shell))
    return 0
