"""What the benches of whole engines share: the options that choose cases, and the checks of their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from cdma.base.errors import ParameterError
from cdma.command import Option, option
from cdma.files import ready_file


def case_options(densities: str, directions: Sequence[str]) -> tuple[Option, Option]:
    """``--densities``, whose help tells of the default, and ``--directions``."""
    some = f"some of {', '.join(directions)}"
    return (
        option("--densities D+", f"shares of literals{densities}", float),
        option("--directions D+", some, choices=directions),
    )


def plot(what: str) -> Option:
    """``--plot``."""
    return option("--plot FILE", f"also draw {what} (.svg, .png)", Path)


def check_plot(path: Path | None) -> None:
    """Refuses a picture that cannot be drawn or written, before what it shows is measured."""
    if path is not None:
        from cdma.synth.asic.sweep.sweep import require_matplotlib

        require_matplotlib()
        ready_file(path, (".svg", ".png"))


def check_latencies(name: str, latencies: Iterable[int]) -> None:
    """Refuses latencies that the memories do not have; ``name`` is that of the option, with its verb."""
    for latency in latencies:
        if not 0 <= latency <= 10000:
            raise ParameterError(f"{name} {latency}; it must be from 0 to 10000 cycles")
