"""A run as pictures: a waveform, how GTKWave is to show it, a timing diagram, and a page for a browser."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vcd.gtkw import GTKWFlag, GTKWSave

from .page import Group, Line, Names, View, page
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


#: Width and height of GTKWave's window, the width of the names in it, and that of its frames and of the closed tree of
#: instances, in pixels.
_WINDOW, _NAMES, _EDGES = (1400, 800), 260, 70

#: Pixels of GTKWave's frame: one takes 2 to the power of minus the zoom, in units of the dump's time (``calczoom`` in its
#: ``wavewindow.c``).
_FRAME = 200

#: Lines below an analogue trace that it takes, too.
_HEIGHT = 2

#: Where a save file says that it lies. GTKWave finds the files that it names by where they are from there, wherever it is.
_FOLDER = "/waves"

#: The letters of GTKWave's markers.
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def write_gtkw(path: Path, dump: str, trace: Trace, view: View) -> None:
    """Writes a save file for the waveform ``dump``, which lies beside it; it opens with the whole run in the window.

    What values are called is in files of their own in a folder beside it, ``NAME.names``.
    """
    files = _Files(path)
    with path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(dump, abspath=False)
        save.savefile(f"{_FOLDER}/{path.name}", abspath=False)
        save.size(*_WINDOW)
        zoom = -math.log2(max(1, trace.end) * _FRAME / (_WINDOW[0] - _NAMES - _EDGES))
        times = [trace.edges[cycle] for cycle in view.markers.values()]
        save.zoom_markers(zoom, *times[:1], **dict(zip(_LETTERS, times, strict=False)))
        for letter, name in zip(_LETTERS, view.markers, strict=False):
            file.write(f"[markername] {letter.upper()}{name}\n")
        save.treeopen(f"{trace.top.name}.")
        save.signals_width(_NAMES)
        save.sst_expanded(False)
        for group in view.groups:
            with save.group(group.title, closed=group.closed) if group.title else nullcontext():
                _add(save, trace.top.name, group, files)


class _Files:
    """The translate files: one for each set of names."""

    def __init__(self, save: Path) -> None:
        self._save = save
        self._written: dict[str, str] = {}

    def name(self, line: Line) -> str:
        """The file for a signal, as the save file names it."""
        assert line.names is not None
        text = _translations(line.names, line.bits)
        if text not in self._written:
            folder = self._save.with_suffix(".names")
            folder.mkdir(exist_ok=True)
            file = folder / f"{line.path.rpartition('.')[2]}_{len(self._written)}.txt"
            file.write_text(text)
            self._written[text] = f"{_FOLDER}/{folder.name}/{file.name}"
        return self._written[text]


def _translations(names: Names, bits: int) -> str:
    """A line for each value, in the digits in which GTKWave has it; a colour before the name of an error."""
    digits = -(-bits // 4)
    return "".join(
        f"{value:0{digits}x} {'?red?' if value in names.errors else ''}{name}\n"
        for value, name in sorted(names.values.items())
    )


def _add(save: GTKWSave, top: str, group: Group, files: _Files) -> None:
    for line in group.lines:
        bits = f"[{line.bits - 1}:0]" if line.bits > 1 else ""
        analog = line.base == "analog"
        save.trace(
            f"{top}.{line.path}{bits}",
            # Of a name with points GTKWave shows what is behind the last one.
            alias=line.title.replace(".", " "),
            color=line.color,
            datafmt="dec" if analog else line.base,
            extraflags=GTKWFlag.analog_step if analog else GTKWFlag(0),
            translate_filter_file=files.name(line) if line.names else None,
        )
        if analog:
            for _ in range(_HEIGHT):
                save.blank(analog_extend=True)
