"""``cdma study tune``: searches, each a command of its own."""

from __future__ import annotations

from cdma.command import Command

from . import gpu, hardware, software

COMMAND = Command(
    "tune",
    "the engine, or how software or a GPU is used, that suits a network",
    "Search. Each explains itself: cdma study tune hardware --help.",
    commands=[kind.COMMAND for kind in (hardware, software, gpu)],
    title="what to tune",
)
