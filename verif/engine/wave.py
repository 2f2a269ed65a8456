"""Short, telling runs of the engine as pictures."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from cdma.base.errors import ParameterError
from cdma.sim.codec.words import Words
from cdma.verif.simulator.vcd_trace import Trace
from cdma.verif.simulator.waveform import ERROR_BOX, KINDS, Scene, draw, levels

from .design import EngineDesign
from .view import engine_view

#: Runs, as :mod:`~cdma.verif.engine.wave_tests` has them, those that only engines with several units have, and those
#: that only engines with an error-bounded stage have.
SCENARIOS = ("descriptor", "error", "corrupt", "abort")
SCENARIOS_OF_UNITS = ("pieces",)
SCENARIOS_OF_NUMBERS = ("lossy",)

#: AXI's responses that are errors.
_ERRORS = {2: "SLVERR", 3: "DECERR"}

_JOINER = "engine.offload.path.joiner"
_CHANNELS = ("aw", "w", "b", "ar", "r")


def engine_wave(
    design: EngineDesign,
    directory: Path,
    kinds: Sequence[str] = KINDS,
    scenarios: Sequence[str] | None = None,
    words: Words | None = None,
    total: int | None = None,
) -> list[Path]:
    """Simulates each scenario, checked like the regression; writes ``engine_SCENARIO.vcd``, ``.gtkw``, ``.svg``.

    By default all ``scenarios`` of this kind of engine. ``words`` are a tensor that is moved instead, or the first
    words of one that has ``total``.
    """
    if words is not None:
        with tempfile.TemporaryDirectory(prefix="cdma-") as folder:
            path = Path(folder) / "words.npy"
            np.save(path, words)
            return draw(design, _scene(design, "tensor", total, words=str(path)), directory, kinds)
    written = []
    units = design.config.units
    possible = SCENARIOS + (SCENARIOS_OF_UNITS if units > 1 else ())
    possible += SCENARIOS_OF_NUMBERS if design.config.quantisation else ()
    for scenario in possible if scenarios is None else scenarios:
        if scenario not in possible:
            raise ParameterError(
                f"scenarios has {scenario!r}; an engine with {units} {'units' if units > 1 else 'unit'} has "
                f"{', '.join(possible)}"
            )
        written += draw(design, _scene(design, scenario), directory, kinds)
    return written


def _scene(design: EngineDesign, scenario: str, total: int | None = None, **settings: str) -> Scene:
    pieces, units, ports = scenario in SCENARIOS_OF_UNITS, design.config.units, _ports(design)
    return Scene(
        name=f"engine_{scenario}",
        module="cdma.verif.engine.wave_tests",
        test=scenario,
        view=partial(engine_view, design.config),
        diagram=partial(_pieces, units) if pieces else partial(_diagram, scenario, ports),
        inside=_inside(units) if pieces else (),
        settings=settings,
        total=total,
    )


_Ports = dict[str, str]


def _ports(design: EngineDesign) -> _Ports:
    several = design.config.units > 1
    dev = {
        f"m_axi_{name}": f"device memory, unit {unit}" if several else "device memory"
        for unit, name in enumerate(design.config.dev_ports)
    }
    return {"s_axil": "registers", **dev, "m_axi_host": "host memory"}


def _inside(units: int) -> list[str]:
    """The signals at which the pieces of the units meet."""
    pieces = [f"pieces_{unit}_{end}" for unit in range(units) for end in ("valid", "ready", "last")]
    return [
        f"{_JOINER}.{name}" for name in (*pieces, "order_unit", "order_valid", "output_valid", "output_ready")
    ]


def _pieces(units: int, trace: Trace) -> dict[str, object]:
    """A line per unit: reads of its port; its piece, high while it waits, and a box for each beat that is taken."""
    numbers = range(len(trace.cycles))

    def at(name: str, cycle: int) -> int:
        return trace.cycles[cycle][name if "." in name else f"{_JOINER}.{name}"]

    def piece(unit: int, cycle: int) -> object:
        waits = at(f"pieces_{unit}_valid", cycle)
        return "=" if waits and at(f"pieces_{unit}_ready", cycle) else waits

    joined = [bool(at("output_valid", cycle) and at("output_ready", cycle)) for cycle in numbers]
    asks = [f"m_axi_dev{unit}_arvalid" for unit in range(units)]
    first = next(cycle for cycle in numbers if any(trace.cycles[cycle][name] for name in asks)) - 1
    last = max(cycle for cycle in numbers if joined[cycle])
    lines: list[object] = []
    for unit in range(units):
        ar, r = f"m_axi_dev{unit}_ar", f"m_axi_dev{unit}_r"
        cycles = [trace.cycles[cycle] for cycle in range(first, last + 2)]
        lines.append(
            [
                f"unit {unit}",
                {"name": "AR", **_transfers(list(cycles), ar)},
                {"name": "R", **_transfers(list(cycles), r)},
                {"name": "piece", **_beats([piece(unit, cycle) for cycle in range(first, last + 2)])},
            ]
        )
    turns = [
        str(at("order_unit", cycle)) if at("order_valid", cycle) else "" for cycle in range(first, last + 2)
    ]
    lines.append(
        [
            "joiner",
            {"name": "turn", **_boxes(turns)},
            {"name": "joined", "wave": levels([int(joined[cycle]) for cycle in range(first, last + 2)])},
        ]
    )
    text = "engine, several units: pieces meet in the order of their stripes; a box is a beat that is taken"
    return {"signal": lines, "config": {"hscale": 1}, "head": {"text": text}}


def _beats(values: list[object]) -> dict[str, object]:
    count = 0
    labels = []
    for value in values:
        if value == "=":
            labels.append(str(count))
            count += 1
    return {"wave": levels(values), "data": labels}


def _boxes(texts: list[str]) -> dict[str, object]:
    """A box for each run of the same text; none where it is empty."""
    wave, labels, before = "", [], None
    for text in texts:
        wave += "." if text == before else "=" if text else "x"
        if text and text != before:
            labels.append(text)
        before = text
    return {"wave": wave, "data": labels}


def _diagram(scenario: str, ports: _Ports, trace: Trace) -> dict[str, object]:
    """One line per channel that has transfers, high in the cycles of a transfer, with addresses in boxes.

    Long runs of cycles without a transfer are left out.
    """
    moves = [_moves(ports, cycle) for cycle in trace.cycles]
    telling = [
        bool(moved) or here["irq"] != before["irq"] for moved, here, before in _neighbours(moves, trace)
    ]
    # From the doorbell, the last register written before the first descriptor is fetched.
    fetch = next(index for index, moved in enumerate(moves) if "m_axi_host_ar" in moved)
    first = max(index for index in range(fetch) if "s_axil_aw" in moves[index])
    shown = _shown(telling, first - 1)
    cycles = [None if index is None else trace.cycles[index] for index in shown]
    signal: list[object] = [{"name": "cycle", **_numbers(shown, first)}, {}]
    for prefix, title in ports.items():
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


def _moves(ports: _Ports, cycle: dict[str, int]) -> set[str]:
    names = (f"{prefix}_{channel}" for prefix in ports for channel in _CHANNELS)
    return {name for name in names if cycle[f"{name}valid"] and cycle[f"{name}ready"]}


def _neighbours(
    moves: list[set[str]], trace: Trace
) -> Iterator[tuple[set[str], dict[str, int], dict[str, int]]]:
    return zip(moves, trace.cycles, [trace.cycles[0], *trace.cycles], strict=False)


def _shown(telling: list[bool], start: int) -> list[int | None]:
    """The cycles from ``start`` on that are drawn; None for a gap."""
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
    """High in the cycles of a transfer; boxes say addresses, and the responses that are errors."""
    addressed, answers = name.endswith(("_ar", "_aw")), name.endswith(("_r", "_b"))
    labels = []
    moves: list[object] = []
    for cycle in cycles:
        moved = cycle and cycle[f"{name}valid"] and cycle[f"{name}ready"]
        if cycle and moved and addressed:
            labels.append(f"{cycle[f'{name}addr']:x}")
            moves.append("=")
        elif cycle and moved and answers and (error := _ERRORS.get(cycle[f"{name}resp"])):
            labels.append(error)
            moves.append(ERROR_BOX)
        else:
            moves.append(moved)
    wave = levels(moves)
    return {"wave": wave, "data": labels} if labels else {"wave": wave}
