"""Configurations of engines that several rooms of tests run, so that each is built once."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.verif.engine.design import SMALL

#: Descriptors and completions as streams, with the owners of their memory.
STREAMING = dataclasses.replace(SMALL, registers=False, stream_id_bits=3, substream_id_bits=5)

#: Codes of a field with zero words and padded windows, between ports narrower and wider than a beat of the codec.
FIELDS = dataclasses.replace(
    SMALL,
    format=Format(16, 32, 3, (127, 126), field_bits=8, rotate=1, zero=True, align=4),
    lanes=8,
    host_data_bits=256,
)

#: The same with any byte, a CRC, an error-bounded stage, and a pipeline.
FIELDS_TO_A_BYTE = dataclasses.replace(
    FIELDS, alignment="byte", crc=True, lossy="fp32", pages=True, pipelined=True
)

#: Sources and destinations at any word, with a port as wide as eight of the other and of the codec, wider than a record.
TO_A_WORD = dataclasses.replace(SMALL, alignment="word", host_data_bits=512)

#: Any byte, with the same ports, and words of 4 bytes.
TO_A_BYTE = dataclasses.replace(TO_A_WORD, format=Format(), alignment="byte")

#: Words of 4 bits, two to a byte of memory, which are integers where there is a step.
HALF_BYTES = dataclasses.replace(
    SMALL, format=Format(4, 32, 2, (0,), align=4), lanes=8, host_data_bits=128, crc=True, lossy="bf16"
)

#: Short queues and a short ring, with all that is delivered with an engine.
DELIVERED = EngineConfig(
    Format(16), lanes=4, dev_data_bits=64, host_data_bits=64, latency=16, descriptors=2, ring_entries=16
)

#: Several clocks, checked memories, register slices and IDs.
CHECKED_CROSSINGS = EngineConfig(
    lanes=2,
    dev_data_bits=64,
    host_data_bits=64,
    dev_address_bits=32,
    host_address_bits=32,
    latency=32,
    burst_beats=8,
    clocks="device,host,registers",
    quiescence=True,
    sideband_registers=True,
    stream_id_bits=3,
    register_slices="in,out",
    memories_protect="parity",
)


def engines_of(table: str, bases: Mapping[str, Any]) -> dict[str, tuple[EngineConfig, str]]:
    """The engines of a table by their names, each with its tests. A row is ``name: BASE option option=value; tests``, where
    the base is of ``bases`` or of this module, and an option without a value is on; an indented line goes on with the one
    above it."""
    found = {}
    bases = globals() | dict(bases)
    for row in re.sub(r"\n +", " ", table.strip()).splitlines():
        name, engine, tests = re.split(": |; ?", row)
        base, *options = engine.split()
        changes = {
            each: value if given else "true" for each, given, value in (o.partition("=") for o in options)
        }
        settings = {each: _value(text) for each, text in changes.items()}
        found[name] = EngineConfig.from_settings(bases[base].settings() | settings), tests
    return found


def _value(text: str) -> Any:
    return json.loads(text) if re.fullmatch(r"\d+|true|false", text) else text
