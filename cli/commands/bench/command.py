"""``cdma bench``: measurements, each a command of its own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cdma.wings import modules

__all__ = ["register"]

#: Modules of the benches, in the order that ``--help`` shows; those of the wings come behind them. Each has
#: ``register(subparsers)``.
_BENCHES = (".codec", ".stage", ".engine", ".units", ".software")


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "bench",
        help="measure speed and ratio",
        description="Measure. Each bench explains itself: cdma bench BENCH --help.",
    )
    benches = parser.add_subparsers(title="benches", metavar="BENCH", required=True)
    own = (import_module(module, __package__) for module in _BENCHES)
    for module in (*own, *modules("BENCHES")):
        module.register(benches)
