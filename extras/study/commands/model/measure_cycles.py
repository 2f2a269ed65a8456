"""The cycles of codec and engine that the system model is fitted to, counted under Verilator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.measure import UNITS, measure_engine, unit_cases, unit_row
from cdma.verif.stream.codec.measure import measure_codec, standard_designs

COMMAND = "cdma study model measure engine extras/study/data/engine_cycles.json"
UNITS_COMMAND = "cdma study model measure units extras/study/data/unit_cycles.json"

#: Bytes of a tensor, how many of them, the memories' latency, density.
_LOADS = (
    (4096, 1, 10, 0.5),
    (4096, 16, 300, 0.5),
    (16384, 1, 100, 0.25),
    (65536, 1, 10, 0.5),
    (65536, 1, 300, 1.0),
)


def measure_cycles(say: Callable[[str], None]) -> str:
    """The text of ``extras/study/data/engine_cycles.json``."""
    codec = []
    for design in standard_designs():
        say(str(design))
        codec += measure_codec(design)
    cases = [
        {
            "direction": direction,
            "mode": "zvc",
            "density": density,
            "bytes": size,
            "descriptors": count,
            "memory_latency": latency,
        }
        for size, count, latency, density in _LOADS
        for direction in ("offload", "prefetch")
    ]
    say("the engine")
    return as_text(COMMAND, {"codec": codec, "engine": engine_rows(EngineConfig(), cases)})


def measure_units(say: Callable[[str], None]) -> str:
    """The text of ``extras/study/data/unit_cycles.json``: the rows of ``cdma bench units``."""
    rows = []
    for units in UNITS:
        say(f"{units} units")
        config = EngineConfig(units=units)
        rows += [unit_row(config, row) for row in measure_engine(EngineDesign(config), unit_cases(config))]
    return units_as_text(rows)


def units_as_text(rows: list[dict[str, Any]]) -> str:
    """The text for these rows."""
    return as_text(UNITS_COMMAND, {"units": rows})


def engine_rows(config: EngineConfig, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that :func:`cdma.study.system.engine_rate.fit_engine` reads."""
    shape = {
        "word_bits": config.format.word_bits,
        "port_bytes": min(config.dev_data_bits, config.host_data_bits) // 8,
    }
    return [shape | row for row in measure_engine(EngineDesign(config), cases)]


def as_text(command: str, tables: dict[str, list[dict[str, Any]]]) -> str:
    """A row on a line, and the command that counts anew."""
    parts = [f' "command": {json.dumps(command)}']
    for name, rows in tables.items():
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        parts.append(f' "{name}": [\n{lines}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"
