"""What the benches of whole engines share: the options that choose cases, and the checks of their values."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError
from cdma.files import ready_file

__all__ = ["add_case_options", "add_plot_option", "check_densities", "check_latencies", "check_plot"]


def add_case_options(group: Any, *, densities: str, directions: Sequence[str]) -> None:
    """Adds ``--densities``, whose help adds the default, and ``--directions``."""
    group.add_argument(
        "--densities", type=float, nargs="+", metavar="D", help=f"shares of literals{densities}"
    )
    group.add_argument(
        "--directions", choices=directions, nargs="+", metavar="D", help=f"some of {', '.join(directions)}"
    )


def add_plot_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds ``--plot``."""
    parser.add_argument("--plot", type=Path, metavar="FILE", help=f"also draw {what} (.svg, .png)")


def check_plot(path: Path | None) -> None:
    """Refuses a picture that cannot be drawn or written, before what it shows is measured."""
    if path is not None:
        from cdma.synth.asic.sweep.sweep import require_matplotlib

        require_matplotlib()
        ready_file(path, (".svg", ".png"))


def check_densities(densities: Iterable[float]) -> None:
    """Refuses what is no density."""
    for density in densities:
        if not 0 <= density <= 1:
            raise ParameterError(f"densities has {density:g}; a density is from 0 to 1")


def check_latencies(name: str, latencies: Iterable[int]) -> None:
    """Refuses latencies that the memories do not have; ``name`` is that of the option, with its verb."""
    for latency in latencies:
        if not 0 <= latency <= 10000:
            raise ParameterError(f"{name} {latency}; it must be from 0 to 10000 cycles")
