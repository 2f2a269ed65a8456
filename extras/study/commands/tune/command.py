"""``cdma study tune``: searches, each a command of its own."""

from __future__ import annotations

from typing import Any

from . import gpu, hardware, software

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "tune",
        help="the engine, or how software or a GPU is used, that suits a network",
        description="Search. Each explains itself: cdma study tune hardware --help.",
    )
    kinds = parser.add_subparsers(title="what to tune", metavar="WHAT", required=True)
    for kind in (hardware, software, gpu):
        kind.register(kinds)
