"""Short, telling runs of the engine as pictures: a VCD, a GTKWave save file for it, and a timing diagram."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import wavedrom
from vcd.gtkw import GTKWColor, GTKWSave

from .build import build
from .engine_design import EngineDesign
from .simulate import SimulationError, simulate
from .vcd_trace import Scope, Trace, read_trace

__all__ = ["KINDS", "SCENARIOS", "engine_wave"]

KINDS = ("vcd", "gtkw", "svg")
#: Runs, as :mod:`.engine_wave_tests` has them.
SCENARIOS = ("descriptor", "error", "abort")

_PORTS = {
    "s_axil": ("registers", GTKWColor.yellow),
    "m_axi_dev": ("device memory", GTKWColor.green),
    "m_axi_host": ("host memory", GTKWColor.blue),
}
_CHANNELS = ("aw", "w", "b", "ar", "r")


def engine_wave(
    design: EngineDesign,
    directory: Path,
    kinds: tuple[str, ...] = KINDS,
    scenarios: tuple[str, ...] = SCENARIOS,
) -> list[Path]:
    """Simulates each scenario, checked like the regression, and writes ``engine_SCENARIO.vcd``, ``.gtkw``,
    ``.svg``.
    """
    directory.mkdir(parents=True, exist_ok=True)
    ports = design.ports()
    executable = build(design.verilog(), design.top, ports, trace=True)
    settings = {"design": design.to_json(), "packets": 1, "seed": 1}
    written = []
    for scenario in scenarios:
        name = f"engine_{scenario}"
        with tempfile.TemporaryDirectory(dir=directory, prefix=".wave-") as temporary:
            place = Path(temporary)
            vcd = place / f"{name}.vcd"
            (outcome,) = simulate(
                executable, design.top, "cdma.verif.engine_wave_tests", [scenario], settings, waves=vcd
            )
            if outcome.failure is not None:
                raise SimulationError(f"the run {scenario} of the engine failed: {outcome.failure}")
            trace = read_trace(vcd, design.top, ports)
            if "gtkw" in kinds:
                _write_gtkw(place / f"{name}.gtkw", vcd.name, design.top, trace.top)
            if "svg" in kinds:
                (place / f"{name}.svg").write_text(_svg(scenario, trace))
            for kind in kinds:
                target = directory / f"{name}.{kind}"
                os.replace(place / target.name, target)
                written.append(target)
    return written


def _write_gtkw(path: Path, dump: str, top: str, scope: Scope) -> None:
    with path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(dump, abspath=False)
        save.treeopen(f"{top}.")
        save.signals_width(260)
        save.sst_expanded(False)

        def trace(signal: str, color: GTKWColor) -> None:
            width = scope.signals[signal]
            save.trace(f"{top}.{signal}{f'[{width - 1}:0]' if width > 1 else ''}", color=color)

        for signal in ("aclk", "aresetn", "irq"):
            trace(signal, GTKWColor.normal)
        for prefix, (title, color) in _PORTS.items():
            for channel in _CHANNELS:
                with save.group(f"{title}: {channel.upper()}"):
                    for field in ("valid", "ready", "id", "addr", "len", "data", "strb", "last", "resp"):
                        if f"{prefix}_{channel}{field}" in scope.signals:
                            trace(f"{prefix}_{channel}{field}", color)


def _svg(scenario: str, trace: Trace) -> str:
    """One line per channel, high in the cycles in which a transfer happens; boxes say the addresses."""
    start = next(i for i, cycle in enumerate(trace.cycles) if cycle["m_axi_host_arvalid"])
    busy = [
        i for i, c in enumerate(trace.cycles) if c["m_axi_host_bvalid"] or c["m_axi_dev_bvalid"] or c["irq"]
    ]
    cycles = trace.cycles[max(0, start - 4) : max(busy) + 4]
    signal: list[object] = []
    for prefix, (title, _) in _PORTS.items():
        lines: list[object] = [title]
        for channel in _CHANNELS:
            wave, labels, previous = "", [], ""
            for cycle in cycles:
                level = (
                    "1" if cycle[f"{prefix}_{channel}valid"] and cycle[f"{prefix}_{channel}ready"] else "0"
                )
                if level == "1" and channel in ("ar", "aw"):
                    wave += "="
                    labels.append(f"{cycle[f'{prefix}_{channel}addr']:x}")
                    previous = "="
                    continue
                wave += "." if level == previous else level
                previous = level
            line: dict[str, object] = {"name": channel.upper(), "wave": wave}
            lines.append({**line, "data": labels} if labels else line)
        signal += [lines, {}]
    irq, shown = "", -1
    for cycle in cycles:
        irq += "." if cycle["irq"] == shown else str(cycle["irq"])
        shown = cycle["irq"]
    signal.append({"name": "irq", "wave": irq})
    text = f"engine, {scenario}: cycles with a transfer on each channel; addresses in hexadecimal"
    source = {"signal": signal, "config": {"hscale": 1}, "head": {"text": text}, "foot": {"tick": 0}}
    return str(wavedrom.render(json.dumps(source)).tostring())
