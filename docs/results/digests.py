"""What each record is about, as digests: the circuits that its command measures, the sources of its kernels or codecs, and
the recipe, which is the command with the scripts that measure.

A record is stale if one of them is another today, or if it has none.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from cdma.app import parser
from cdma.base.cache import Cache, content_key
from cdma.hdl.codec.generate import codec_shell
from cdma.hdl.engine.engine import engine_shell
from cdma.hdl.lossy.generate import StageShell
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import MEMORY_CODES
from cdma.hdl.spec.stage import StageConfig
from cdma.hdl.verilog.shell import Shell, generator_key
from cdma.options import codec_config_from, config_from, engine_config_from
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.sweep.sweep import parse_axis, points
from cdma.verif.engine.measure_units import UNITS

from .netlist_digest import digest_of_shell
from .records import ROOT, Record
from .source_digest import digest_of_sources

__all__ = ["changed", "digests", "needs_card"]

_CODECS = ("compressor", "decompressor")
_Block = tuple[str, Any]
_ASIC = (
    *(f"synth/asic/{name}.py" for name in ("measure", "recipe", "scaling", "timing")),
    "synth/asic/library/*.py",
)
_ENGINE = ("verif/engine/*.py", "verif/engine/*.h", "verif/engine/*.cpp")
_SOFTWARE = ("sim/codec/*.py", "sim/codec/*.c", "sim/codec/*.h")
_TORCH = ("extras/pytorch/torch/**/*.py", "sim/codec/quantise.py", "sim/codec/number_types.py")
#: By how commands begin, the first that fits: the files of the recipe, and those of what is measured if it is no circuit.
_FILES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    r"cdma area": (_ASIC, ()),
    r"cdma fpga": (("synth/fpga/*.py",), ()),
    r"cdma power": (("synth/asic/power/*.py", *_ASIC), ()),
    r"cdma study bench queue": (("extras/study/compare/queue_rates.py", *_ASIC), ()),
    r"cdma bench codec": (("verif/stream/*.py", "verif/stream/codec/*.py"), ()),
    r"cdma bench (engine|units)": (_ENGINE, ()),
    r"cdma verify": ((*_ENGINE, "verif/engine/tests/**/*.py"), ()),
    r"cdma faults": (("verif/campaigns/faults/*.py", "verif/campaigns/faults/*.cpp"), ()),
    r"cdma mutate": (("verif/campaigns/mutation/*.py", *_ENGINE, "verif/engine/tests/**/*.py"), ()),
    r"cdma bench software": (("sim/codec/software_bench.py",), _SOFTWARE),
    r"cdma study bench bounded": (
        ("extras/study/compare/bounded_bench.py", "extras/study/compare/entropy.py"),
        _SOFTWARE,
    ),
    r"cdma study bench lossy": (("extras/study/training/lossy.py", "extras/study/training/train.py"), _TORCH),
    r"cdma bench saved": (
        ("extras/pytorch/torch/bench/saved_bench.py",),
        ("extras/pytorch/gpu/*.py", *_TORCH),
    ),
    r"python -m docs\.results\.files": (("docs/results/files.py",), _SOFTWARE),
    r"python -m docs\.results\.memory_checks": (("docs/results/memory_checks.py", *_ASIC), ()),
    r"python -m docs\.results\.peer": (("docs/results/peer*.py", "synth/fpga/*.py", *_ASIC), ()),
    r"python -m tests\.designer_time": (("tests/designer_time.py",), ()),
}


def needs_card(record: Record) -> bool:
    """Whether its command measures on a GPU."""
    return re.match(r"cdma bench (saved|gpu|advisor|batch|kernels|stream|swap)\b", record.command) is not None


def changed(record: Record) -> list[str]:
    """What is of another digest today than when it was measured; something, if no digest is known."""
    if not record.digests:
        return ["digest"]
    return [name for name, digest in digests(record.command).items() if record.digests.get(name) != digest]


@cache
def digests(command: str) -> dict[str, str]:
    """The digests of what a command measures, by ``circuit`` or ``sources``, and of its ``recipe``."""
    none: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    fitting = (files for start, files in _FILES.items() if re.match(start, command))
    recipe, sources = next(fitting, none)
    found = {}
    if circuits := [*_circuits(command)]:
        found["circuit"] = _hash(*(_circuit(block, config) for block, config in circuits))
    elif sources:
        found["sources"] = digest_of_sources(_paths(sources))
    return found | {"recipe": _hash(command, digest_of_sources(_paths(recipe)))}


def _paths(patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from ROOT.glob(pattern)


def _hash(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


@cache
def _circuit(block: str, config: Any) -> str:
    """The digest of a circuit, kept as long as the generator is the same."""
    key = content_key(
        "netlist digest", Path(__file__).with_name("netlist_digest.py").read_bytes(), generator_key()
    )
    return str(
        Cache().kept(content_key(key, block, repr(config)), lambda: digest_of_shell(_shell(block, config)))
    )


def _shell(block: str, config: Any) -> Shell:
    if isinstance(config, EngineConfig):
        return engine_shell(config)
    return StageShell(block, config) if isinstance(config, StageConfig) else codec_shell(block, config)


def _circuits(command: str) -> Iterator[_Block]:
    """The blocks that a command measures, with their parameters."""
    program, *words = shlex.split(command)
    if program != "cdma":
        if words[1] == "docs.results.memory_checks":
            yield from (("engine", EngineConfig(memories_protect=code)) for code in MEMORY_CODES[1:])
        return
    if words[:3] == ["study", "bench", "queue"]:
        for bits, queue in ((bits, queue) for bits in (8, 16, 32) for queue in (0, 1, 2)):
            for block in _CODECS:
                yield block, CodecConfig(Format(bits), 256 // bits, queue=queue)
        return
    if words[0] not in ("area", "fpga", "power", "verify", "faults", "mutate", "bench"):
        return
    asked = parser().parse_args(words)
    if words[0] in ("faults", "mutate") or words[:2] == ["bench", "engine"]:
        yield "engine", engine_config_from(asked)
    elif words[:2] == ["bench", "units"]:
        counts = asked.unit_counts or UNITS
        yield from (("engine", replace(engine_config_from(asked), units=units)) for units in counts)
    elif words[:2] == ["bench", "codec"]:
        yield from ((block, codec_config_from(asked)) for block in _CODECS)
    elif words[0] != "bench":
        yield from _of_sweep(asked) if getattr(asked, "sweep", None) else [(asked.block, config_from(asked))]


def _of_sweep(asked: Any) -> Iterator[_Block]:
    axes = dict(parse_axis(text) for text in asked.sweep)
    for point in points(codec_config_from(asked), Options(1.0), axes):
        if not point.reason:
            yield asked.block, point.config
