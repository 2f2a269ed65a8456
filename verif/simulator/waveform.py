"""A run as pictures: a waveform, how GTKWave is to show it, a timing diagram, and a page for a browser."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .gtkwave import write_gtkw
from .page import View, page
from .simulate import Design, run_test
from .vcd_trace import Trace, read_trace, timing_diagram

#: The kinds of files that a waveform is written as, and all that there are.
KINDS = ("vcd", "gtkw", "svg")
ALL_KINDS = (*KINDS, "html")


@dataclass(frozen=True)
class Scene:
    """A short, telling run.

    ``name``: Names the files.
    ``module``, ``test``: Name the cocotb test, which checks the run as the regression does.
    ``view``: Gives what is shown of the run, from its trace.
    ``diagram``: Gives the WaveDrom source of the timing diagram, from the values of the ports.
    ``inside``: Names signals inside whose values it gets too.
    ``settings``: Are handed to the test.
    ``total``: Are the words of the tensor of which the run has the first ones, where there is one.
    """

    name: str
    module: str
    test: str
    view: Callable[[Trace], View]
    diagram: Callable[[Trace], Mapping[str, object]]
    inside: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    total: int | None = None


#: A coloured box in a WaveDrom wave.
ERROR_BOX = "4"


def draw(
    design: Design, scene: Scene, directory: Path, kinds: Sequence[str] = KINDS, *, verilog: str | None = None
) -> list[Path]:
    """Simulates a scene and writes those ``kinds`` of ``NAME.vcd``, ``.gtkw``, ``.svg`` and ``.html``;
    the paths, and that of the folder ``NAME.names`` that the save file for GTKWave reads.

    ``verilog`` is the design's text, for those who have it already.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".wave-") as temporary:
        made = {kind: Path(temporary) / f"{scene.name}.{kind}" for kind in ALL_KINDS}
        waves = made["vcd"]
        run_test(design, scene.module, scene.test, verilog=verilog, waves=waves, short=True, **scene.settings)
        clocks = {port.name: port.clock for port in design.ports} | dict.fromkeys(
            scene.inside, design.ports[0].clock
        )
        trace = read_trace(waves, design.top, list(clocks), clocks)
        view = scene.view(trace)
        if "gtkw" in kinds:
            write_gtkw(made["gtkw"], waves.name, trace, view)
        if "svg" in kinds:
            made["svg"].write_text(timing_diagram(scene.diagram(trace)))
        if "html" in kinds:
            made["html"].write_text(page(f"{scene.name}: {design}", trace, view, scene.total))
        for kind in set(ALL_KINDS) - set(kinds):
            made[kind].unlink(missing_ok=True)
        names = made["gtkw"].with_suffix(".names")
        folders = [directory / names.name] if names.is_dir() else []
        for file in [path for path in Path(temporary).rglob("*") if path.is_file()]:
            target = directory / file.relative_to(temporary)
            target.parent.mkdir(exist_ok=True)
            os.replace(file, target)
    return [*(directory / made[kind].name for kind in kinds), *folders]


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
