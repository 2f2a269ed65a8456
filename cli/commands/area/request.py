"""What the parsed arguments of ``cdma area`` ask for, alike for a report, a sweep and a comparison."""

from __future__ import annotations

import argparse
from pathlib import Path

from cdma.hdl.spec.codec import BLOCKS
from cdma.options import cache_from, codec_config_from
from cdma.synth.asic.library.liberty import ASSUMPTION, NAME, load_libraries, normalised_library
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.scaling import Floor, codec_floor, default_period
from cdma.synth.asic.timing import find_opensta

__all__ = ["assumption", "floor", "library", "options"]


def library(arguments: argparse.Namespace) -> Library:
    """The library to map to."""
    files: list[Path] | None = arguments.liberty
    return load_libraries(files) if files else normalised_library()


def assumption(used: Library) -> str:
    """What a reader of figures on this library must know, empty where the library speaks for itself."""
    return ASSUMPTION if used.name == NAME else ""


def options(arguments: argparse.Namespace, used: Library) -> Options:
    """How to synthesise; without ``--period``, for the period that fits the library."""
    period = arguments.period
    if period is None:
        period = default_period(used, find_opensta(), cache_from(arguments))
    return Options(period, arguments.clock_gating, arguments.flip_flop_memories)


def floor(arguments: argparse.Namespace, used: Library) -> Floor | None:
    """The structural floor of the block, where it has one."""
    if arguments.block not in BLOCKS:
        return None
    return codec_floor(arguments.block, codec_config_from(arguments), used)
