"""``cdma study``: what compression buys a network, on a machine or on a user's own tensors, and the papers' figures."""

from __future__ import annotations

from typing import Any

from . import characterise, model, profile, tune
from .bench import command as bench

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "study",
        help="what compression buys a network, on a machine or on tensors of one's own",
        description="What compression buys a network. Each command explains itself: cdma study COMMAND --help.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (profile, characterise, model, tune, bench):
        module.register(commands)
