"""A save file for GTKWave as a designer would set it up: groups, names of values, levels as analogue traces, markers."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path

from vcd.gtkw import GTKWFlag, GTKWSave

from .page import Group, Line, Names, View
from .vcd_trace import Trace

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
