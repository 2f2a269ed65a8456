"""Short, telling runs of the engine as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from vcd.gtkw import GTKWColor

from cdma.verif.simulator.vcd_trace import Scope, Trace
from cdma.verif.simulator.waveform import KINDS, Group, Scene, draw, levels, top_line

from .design import EngineDesign

__all__ = ["SCENARIOS", "engine_wave"]

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
    kinds: Sequence[str] = KINDS,
    scenarios: Sequence[str] = SCENARIOS,
) -> list[Path]:
    """Simulates each scenario, checked like the regression; writes ``engine_SCENARIO.vcd``, ``.gtkw``, ``.svg``."""
    written = []
    for scenario in scenarios:
        scene = Scene(
            name=f"engine_{scenario}",
            module="cdma.verif.engine.wave_tests",
            test=scenario,
            groups=_groups,
            diagram=partial(_diagram, scenario),
        )
        written += draw(design, scene, directory, kinds)
    return written


def _groups(top: Scope) -> Iterator[Group]:
    """The clock, the interrupt, and the channels of each port."""
    yield Group("", [top_line(top, signal) for signal in ("aclk", "aresetn", "irq")])
    for prefix, (title, color) in _PORTS.items():
        for channel in _CHANNELS:
            fields = ("valid", "ready", "id", "addr", "len", "data", "strb", "last", "resp")
            names = [f"{prefix}_{channel}{field}" for field in fields]
            lines = [top_line(top, name, color) for name in names if name in top.signals]
            yield Group(f"{title}: {channel.upper()}", lines)


def _diagram(scenario: str, trace: Trace) -> dict[str, object]:
    """One line per channel that has transfers, high in the cycles of a transfer; boxes say the addresses.

    Cycles in which nothing happens are left out where there are many.
    """
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
    signal.append({"name": "irq", "wave": levels([cycle and cycle["irq"] for cycle in cycles])})
    text = f"engine, {scenario}: cycles with a transfer on each channel; addresses in hexadecimal"
    return {"signal": signal, "config": {"hscale": 1}, "head": {"text": text}}


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
    moves: list[object] = []
    for cycle in cycles:
        moved = cycle and cycle[f"{name}valid"] and cycle[f"{name}ready"]
        if cycle and moved and addressed:
            labels.append(f"{cycle[f'{name}addr']:x}")
            moves.append("=")
        else:
            moves.append(moved)
    wave = levels(moves)
    return {"wave": wave, "data": labels} if labels else {"wave": wave}
