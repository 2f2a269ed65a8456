"""Short, telling runs of the engine as pictures: a VCD, a GTKWave save file for it, and a timing diagram."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from vcd.gtkw import GTKWColor, GTKWSave

from cdma.verif.simulator.build import build
from cdma.verif.simulator.simulate import SimulationError, simulate
from cdma.verif.simulator.timing_diagram import timing_diagram
from cdma.verif.simulator.vcd_trace import Scope, Trace, read_trace

from .design import EngineDesign

__all__ = ["KINDS", "SCENARIOS", "engine_wave"]

KINDS = ("vcd", "gtkw", "svg")
#: Runs, as :mod:`~cdma.verif.engine.wave_tests` has them.
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
                executable, design.top, "cdma.verif.engine.wave_tests", [scenario], settings, waves=vcd
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
    """One line per channel that has transfers, high in the cycles of a transfer; boxes say the addresses. Cycles
    in which nothing happens are left out where there are many."""
    moves = [_moves(cycle) for cycle in trace.cycles]
    telling = [
        bool(moved) or here["irq"] != before["irq"] for moved, here, before in _neighbours(moves, trace)
    ]
    # From the doorbell, the last register written before the first descriptor is fetched.
    fetch = next(index for index, moved in enumerate(moves) if "m_axi_host_ar" in moved)
    first = max(index for index in range(fetch) if "s_axil_aw" in moves[index])
    shown = _shown(telling, first - 1)
    cycles = [None if index is None else trace.cycles[index] for index in shown]
    signal: list[object] = [{"name": "cycle", **_numbers(shown, first)}, {}]
    for prefix, (title, _) in _PORTS.items():
        lines = [
            {"name": channel.upper(), **_transfers(cycles, f"{prefix}_{channel}")}
            for channel in _CHANNELS
            if any(f"{prefix}_{channel}" in moves[index] for index in shown if index is not None)
        ]
        if lines:
            signal += [[title, *lines], {}]
    signal.append({"name": "irq", "wave": _levels([cycle and cycle["irq"] for cycle in cycles])})
    text = f"engine, {scenario}: cycles with a transfer on each channel; addresses in hexadecimal"
    source = {"signal": signal, "config": {"hscale": 1}, "head": {"text": text}}
    return timing_diagram(source)


def _moves(cycle: dict[str, int]) -> set[str]:
    """The channels with a transfer in this cycle."""
    names = (f"{prefix}_{channel}" for prefix in _PORTS for channel in _CHANNELS)
    return {name for name in names if cycle[f"{name}valid"] and cycle[f"{name}ready"]}


def _neighbours(
    moves: list[set[str]], trace: Trace
) -> Iterator[tuple[set[str], dict[str, int], dict[str, int]]]:
    return zip(moves, trace.cycles, [trace.cycles[0], *trace.cycles], strict=False)


def _shown(telling: list[bool], start: int) -> list[int | None]:
    """The cycles from ``start`` on that are drawn; None stands for those left out."""
    shown: list[int | None] = []
    end = max(index for index, tells in enumerate(telling) if tells) + 2
    for index in range(start, min(end, len(telling))):
        near = telling[max(0, index - 1) : index + 2]
        if any(near):
            shown.append(index)
        elif shown and shown[-1] is not None:
            shown.append(None)
    return shown


def _numbers(shown: list[int | None], first: int) -> dict[str, object]:
    """A box for each run of cycles, with the number of its first one, counted from ``first``."""
    wave, labels = "", []
    for before, index in zip([None, *shown], shown, strict=False):
        if index is None:
            wave += "|"
        elif before is None:
            wave += "="
            labels.append(str(index - first))
        else:
            wave += "."
    return {"wave": wave, "data": labels}


def _transfers(cycles: list[dict[str, int] | None], name: str) -> dict[str, object]:
    addressed = name.endswith(("ar", "aw"))
    labels = []
    levels: list[object] = []
    for cycle in cycles:
        moved = cycle and cycle[f"{name}valid"] and cycle[f"{name}ready"]
        if cycle and moved and addressed:
            labels.append(f"{cycle[f'{name}addr']:x}")
            levels.append("=")
        else:
            levels.append(moved)
    wave = _levels(levels)
    return {"wave": wave, "data": labels} if labels else {"wave": wave}


def _levels(values: Sequence[object]) -> str:
    """A wave of levels; None is a gap, and every "=" a box of its own."""
    wave, previous = "", None
    for value in values:
        if value is None:
            wave += "|"
            continue
        wave += "." if value == previous and value != "=" else str(value)
        previous = value
    return wave
