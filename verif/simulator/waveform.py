"""A run as pictures: a VCD, a GTKWave save file that groups and colours its signals, and a timing diagram of it."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vcd.gtkw import GTKWColor, GTKWSave

from .design import Design
from .run import run_test
from .timing_diagram import timing_diagram
from .vcd_trace import Scope, Trace, read_trace

__all__ = ["ERROR_BOX", "KINDS", "Group", "Line", "Scene", "draw", "levels", "top_line"]

#: The kinds of files that a waveform is written as.
KINDS = ("vcd", "gtkw", "svg")


@dataclass(frozen=True)
class Line:
    """One signal of a save file: its path from the top, its bits, its colour, and ``hex`` or ``dec``."""

    path: str
    bits: int
    color: GTKWColor = GTKWColor.normal
    base: str = "hex"


@dataclass(frozen=True)
class Group:
    """Signals of a save file under a title; without a title they stand by themselves."""

    title: str
    lines: Sequence[Line]
    closed: bool = False


@dataclass(frozen=True)
class Scene:
    """A short, telling run.

    ``name``
        Names the files.
    ``module``, ``test``
        Name the cocotb test, which checks the run as the regression does.
    ``groups``
        Gives the groups of the save file, from the hierarchy of the waveform.
    ``diagram``
        Gives the WaveDrom source of the timing diagram, from the values of the ports.
    ``inside``
        Names signals inside whose values it gets too.
    ``settings``
        Are handed to the test.
    """

    name: str
    module: str
    test: str
    groups: Callable[[Scope], Iterable[Group]]
    diagram: Callable[[Trace], Mapping[str, object]]
    inside: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


#: A coloured box in a WaveDrom wave.
ERROR_BOX = "4"

#: Width and height of GTKWave's window, the width of the names in it, and that of its frames, in pixels.
_WINDOW, _NAMES, _EDGES = (1400, 800), 260, 10

#: Pixels of GTKWave's frame: one takes 2 to the power of minus the zoom, in units of the dump's time (``calczoom`` in its
#: ``wavewindow.c``).
_FRAME = 200


def draw(
    design: Design, scene: Scene, directory: Path, kinds: Sequence[str] = KINDS, *, verilog: str | None = None
) -> list[Path]:
    """Simulates a scene and writes ``NAME.vcd``, ``.gtkw`` and ``.svg``, or those ``kinds`` of them; the paths.

    ``verilog`` is the design's text, for those who have it already.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".wave-") as temporary:
        made = {kind: Path(temporary) / f"{scene.name}.{kind}" for kind in KINDS}
        waves = made["vcd"]
        run_test(design, scene.module, scene.test, verilog=verilog, waves=waves, short=True, **scene.settings)
        trace = read_trace(made["vcd"], design.top, [*design.port_names, *scene.inside])
        if "gtkw" in kinds:
            _write_gtkw(made["gtkw"], design.top, made["vcd"], scene.groups(trace.top))
        if "svg" in kinds:
            made["svg"].write_text(timing_diagram(scene.diagram(trace)))
        targets = [directory / made[kind].name for kind in kinds]
        for target in targets:
            os.replace(Path(temporary) / target.name, target)
    return targets


def top_line(top: Scope, signal: str, color: GTKWColor = GTKWColor.normal, base: str = "hex") -> Line:
    """The line of a port."""
    return Line(f"{top.name}.{signal}", top.signals[signal], color, base)


def levels(values: Sequence[object]) -> str:
    """A WaveDrom wave of levels; None is a gap, and every "=" or :data:`ERROR_BOX` a box of its own."""
    wave, previous = "", None
    for value in values:
        if value is None:
            wave += "|"
            continue
        wave += "." if value == previous and value not in ("=", ERROR_BOX) else str(value)
        previous = value
    return wave


def _end(dump: Path) -> int:
    """The last time of a VCD, in its own unit."""
    with dump.open() as file:
        return max((int(line[1:]) for line in file if line.startswith("#")), default=0)


def _write_gtkw(path: Path, top: str, dump: Path, groups: Iterable[Group]) -> None:
    """Writes a save file that opens with the whole run in the window."""
    with path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(dump.name, abspath=False)
        save.size(*_WINDOW)
        save.zoom_markers(-math.log2(max(1, _end(dump)) * _FRAME / (_WINDOW[0] - _NAMES - _EDGES)))
        save.treeopen(f"{top}.")
        save.signals_width(_NAMES)
        save.sst_expanded(False)

        def add(lines: Sequence[Line]) -> None:
            for line in lines:
                bits = f"[{line.bits - 1}:0]" if line.bits > 1 else ""
                save.trace(f"{line.path}{bits}", color=line.color, datafmt=line.base)

        for group in groups:
            if group.title:
                with save.group(group.title, closed=group.closed):
                    add(group.lines)
            else:
                add(group.lines)
