"""``cdma study bench``: measurements of formats and of trainings."""

from __future__ import annotations

from typing import Any

from . import bounded, formats, lossy, queue, words

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "bench",
        help="compare formats, words, bounds and queues on recorded activations",
        description="Measure. Each bench explains itself: cdma study bench BENCH --help.",
    )
    benches = parser.add_subparsers(title="benches", metavar="BENCH", required=True)
    for module in (queue, formats, words, bounded, lossy):
        module.register(benches)
