"""Which options of an engine go together: combinations that are refused, and engines with a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cdma.base.errors import ParameterError

from .options import LEAST_PAGED_BITS, PROTECTIONS, SIDEBAND_USER_BITS, splittable
from .records import MAX_BYTES
from .stage import NUMBERS


@dataclass(frozen=True)
class Profile:
    """An engine that has a name.

    ``parameters``: Those of the engine that differ from their defaults.
    ``summary``: What it is, in a phrase.
    """

    parameters: Mapping[str, Any]
    summary: str


#: Every profile by name, from the smallest on.
PROFILES: dict[str, Profile] = {
    "minimal": Profile(
        {
            "registers": False,
            "descriptors": 2,
            "outstanding": 2,
            "burst_beats": 16,
            "latency": 32,
            "queue": 0,
            "windows": False,
            "times": False,
            "longest_bytes": 1 << 24,
        },
        "descriptors of 16 MiB at most and completions as streams, two bursts in flight, small codecs; no rings, counters, "
        "windows, watchdogs",
    ),
    "default": Profile({}, "rings, registers, counters, interrupt"),
    "full": Profile(
        {"alignment": "word", "crc": True, "sideband_registers": True, "register_slices": "in,out"},
        "the default with addresses of any word, CRC, sideband registers, and register slices at all ports",
    ),
}


def profile_named(name: object) -> Profile:
    if not isinstance(name, str) or name not in PROFILES:
        raise ParameterError(f"profile is {name!r}; it must be one of {', '.join(PROFILES)}")
    return PROFILES[name]


def objections_to_words(config: Any) -> Iterator[str]:
    """Why an ``EngineConfig`` cannot have its words: memory has bytes, so words of 4 bits need padding up to a byte."""
    bits = config.format.word_bits
    if bits not in (4, 8, 16, 32):
        yield f"word_bits is {bits}; an engine needs words of 4, 8, 16 or 32 bits, as memory has bytes"
    if bits == 4 and config.format.align == 1:
        yield (
            "align is 1 with word_bits 4; it must be 2, 4 or 8 in an engine, because memory has bytes and only padded "
            "windows are whole bytes"
        )
    if bits == 4 and config.pipelined:
        yield (
            "pipelined is on with word_bits 4; it must be off in an engine, because a pipelined codec with padded "
            "windows needs beats longer than a header, and windows of at least four such beats"
        )


def _objections_to_control(config: Any) -> Iterator[str]:
    """Options that need registers, or need that there are none."""
    registers, most = config.registers, SIDEBAND_USER_BITS
    if config.sideband_registers and not registers:
        yield "sideband_registers is on without registers; it must be off, because there is no register block"
    if config.sideband_registers and config.sideband.axuser_bits > most:
        yield (
            f"axuser_bits is {config.sideband.axuser_bits} with sideband_registers; at most {most} are "
            "allowed, because a register has room for so many"
        )
    if config.register_protection != PROTECTIONS[0] and not registers:
        yield (
            f"register_protection is {config.register_protection!r} without registers; it must be 'none', as there is "
            "nothing to protect"
        )
    if config.open_windows and not registers:
        yield (
            "open_windows is on without registers; it must be off, because address windows are ports that logic drives"
        )
    if config.msi and not registers:
        yield "msi is on without registers; it must be off, because registers say where messages go"
    for name, why in (("windows", "which open and close them"), ("times", "which count and watch them")):
        if registers and not getattr(config, name):
            yield f"{name} is off with registers; it must be on, because there are registers {why}"
    for name, value in (
        ("registers", registers),
        ("units", config.units > 1),
        ("dimensions", config.dimensions),
    ):
        if config.longest_bytes < MAX_BYTES and value:
            yield (
                f"longest_bytes is {config.longest_bytes}, and {name} is {getattr(config, name)}; it must be {MAX_BYTES}, "
                "because drivers, stripes and shapes know no smaller limit"
            )
    if config.coded_memories and not registers:
        yield (
            f"memories_protect is {config.memories_protect!r} without registers; it must be 'none', because a register "
            "says what was found"
        )
    if "registers" in config.clocks and not registers:
        yield f"clocks is {config.clocks!r} without registers; it must not have 'registers', because there are none"


def _objections_to_units(config: Any) -> Iterator[str]:
    """The error-bounded stage, and several units."""
    lossy, bits, several = config.lossy != "none", config.format.word_bits, config.units > 1
    if config.keep_nonzero and not lossy:
        yield "keep_nonzero is on without lossy; it must be off, because no stage rounds"
    if lossy and bits >= NUMBERS[config.lossy].bits:
        yield (
            f"word_bits is {bits} with lossy {config.lossy}; a word is an integer then, and must have fewer "
            f"bits than a number, which has {NUMBERS[config.lossy].bits}"
        )
    if several and bits < 8:
        yield (
            f"word_bits is {bits} with {config.units} units; it must be 8, 16 or 32, because what joins "
            "and splits the streams of units is built for words of whole bytes"
        )
    if several and config.crc:
        yield f"crc is on with {config.units} units; it must be off, because no place sees all raw bytes of a tensor"
    if several and lossy:
        yield (
            f"lossy is {config.lossy} with {config.units} units; it must be none, because no place sees all numbers of a "
            "tensor"
        )
    if config.delta and lossy:
        yield f"delta is on, and lossy is {config.lossy}; delta must be off, because a base changes bits, not numbers"
    if several and (reason := splittable(config.format)):
        yield f"units is {config.units}; it must be 1, because {reason}"


def _objections_to_pairs(config: Any) -> Iterator[str]:
    """Lists of pages, and several pairs."""
    if config.pages and not config.registers:
        yield (
            "pages is on without registers; it must be off, because lists are read beside the rings of a host port"
        )
    if config.pages and config.host_address_bits < LEAST_PAGED_BITS:
        yield (
            f"pages is on, and host_address_bits is {config.host_address_bits}; it must be {LEAST_PAGED_BITS} at least, "
            "because so many tell apart all bytes of a list of pages"
        )
    if config.channels > 1 and not config.registers:
        yield (
            f"channels is {config.channels} without registers; it must be 1, because what is multiplied is registers and "
            "rings"
        )
    if config.channels > 1 and config.coded_memories and config.units > 1:
        yield (
            f"channels is {config.channels}, and memories_protect is {config.memories_protect}, with {config.units} units; "
            "units must be 1, because all three are not tried together yet"
        )


def objections_to_options(config: Any) -> Iterator[str]:
    """Why the options of an ``EngineConfig`` cannot go together."""
    yield from _objections_to_control(config)
    yield from _objections_to_units(config)
    yield from _objections_to_pairs(config)
