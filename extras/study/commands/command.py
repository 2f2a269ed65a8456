"""``cdma study``: what compression buys a network, on a machine or on a user's own tensors, and the papers' figures."""

from __future__ import annotations

from cdma.command import Command

from . import bench, characterise, collect, model, profile, tune

COMMAND = Command(
    "study",
    "what compression buys a network, on a machine or on tensors of one's own",
    "What compression buys a network. Each command explains itself: cdma study COMMAND --help.",
    commands=[module.COMMAND for module in (profile, collect, characterise, model, tune, bench)],
    title="commands",
)
