"""``cdma completion``: what makes a shell complete commands and options."""

from __future__ import annotations

import argparse

from cdma.command import Command, option
from cdma.result import Result


def _run(arguments: argparse.Namespace) -> Result:
    import shtab

    from cdma.app import parser

    return Result(None, [shtab.complete(parser(), arguments.shell)])


COMMAND = Command(
    "completion",
    "print what makes a shell complete commands and options",
    "Print the completion of a shell, for a file that the shell reads when it starts.",
    _run,
    {
        "": (option("shell", "the shell", choices=("bash", "zsh", "fish", "tcsh")),),
    },
    ["bash > ~/.local/share/bash-completion/completions/cdma", "zsh > ~/.zfunc/_cdma"],
)  # fmt: skip
