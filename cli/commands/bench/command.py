"""``cdma bench``: measurements, each a command of its own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["register"]

#: Modules of the benches, those of the study among them, in the order that ``--help`` shows. Each has
#: ``register(subparsers)``.
_BENCHES = (
    ".codec",
    ".stage",
    "cdma.study.bench.queue",
    ".engine",
    ".units",
    "cdma.study.bench.formats",
    "cdma.study.bench.words",
    "cdma.study.bench.bounded",
    "cdma.study.bench.software",
    "cdma.study.bench.lossy",
    "cdma.study.bench.swap",
    "cdma.study.bench.advisor",
    "cdma.study.bench.batch",
    "cdma.study.bench.saved",
    "cdma.study.bench.stream",
    "cdma.study.bench.kernels",
    ".gpu",
)


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "bench",
        help="measure speed and ratio",
        description="Measure. Each bench explains itself: cdma bench BENCH --help.",
    )
    benches = parser.add_subparsers(title="benches", metavar="BENCH", required=True)
    for module in _BENCHES:
        import_module(module, __package__).register(benches)
