"""What the parsed arguments of ``cdma area`` ask for, alike for a report, a sweep and a comparison."""

from __future__ import annotations

import argparse
from pathlib import Path

from cdma.base.json_cache import Cache, NoCache
from cdma.hdl.spec.codecs import BLOCKS
from cdma.options import codec_config_from, config_from
from cdma.synth.asic.floor import Floor, codec_floor
from cdma.synth.asic.library.gates import ASSUMPTION, NAME, normalised_library
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.library.load import load_libraries
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.stage import default_period
from cdma.synth.asic.timing import find_opensta
from cdma.synth.circuits import Circuit, circuit_of

__all__ = ["assumption", "cache", "circuit", "floor", "library", "options"]


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
        period = default_period(used, find_opensta(), cache(arguments))
    return Options(period, arguments.clock_gating, arguments.flip_flop_memories)


def cache(arguments: argparse.Namespace) -> Cache:
    """Where results are kept."""
    return NoCache() if arguments.no_cache else Cache()


def circuit(arguments: argparse.Namespace) -> Circuit:
    """The block as Verilog."""
    return circuit_of(arguments.block, config_from(arguments))


def floor(arguments: argparse.Namespace, used: Library) -> Floor | None:
    """The structural floor of the block, where it has one."""
    if arguments.block not in BLOCKS:
        return None
    return codec_floor(arguments.block, codec_config_from(arguments), used)
