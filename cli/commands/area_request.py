"""What the parsed arguments of ``cdma area`` ask for, alike for a report, a sweep and a comparison."""

from __future__ import annotations

import argparse
from pathlib import Path

from cdma.engine_options import engine_config_from
from cdma.options import codec_config_from
from cdma.synth.cache import Cache, NoCache
from cdma.synth.circuits import codec_circuit, engine_circuit
from cdma.synth.floor import Floor, codec_floor
from cdma.synth.flow import Circuit
from cdma.synth.gates import ASSUMPTION, NAME, normalised_library
from cdma.synth.liberty import Library, load_libraries
from cdma.synth.recipe import Options

__all__ = ["assumption", "cache", "circuit", "floor", "library", "options"]


def library(arguments: argparse.Namespace) -> Library:
    """The library to map to."""
    files: list[Path] | None = arguments.liberty
    return load_libraries(files) if files else normalised_library()


def assumption(used: Library) -> str:
    """What a reader of figures on this library must know, empty where the library speaks for itself."""
    return ASSUMPTION if used.name == NAME else ""


def options(arguments: argparse.Namespace) -> Options:
    """How to synthesise."""
    return Options(arguments.period, arguments.clock_gating, arguments.flip_flop_memories)


def cache(arguments: argparse.Namespace) -> Cache:
    """Where results are kept."""
    return NoCache() if arguments.no_cache else Cache()


def circuit(arguments: argparse.Namespace) -> Circuit:
    """The block as Verilog."""
    if arguments.block == "engine":
        return engine_circuit(engine_config_from(arguments))
    return codec_circuit(arguments.block, codec_config_from(arguments))


def floor(arguments: argparse.Namespace, used: Library) -> Floor | None:
    """The structural floor of the block, where it has one."""
    if arguments.block == "engine":
        return None
    return codec_floor(arguments.block, codec_config_from(arguments), used)
