"""A save file for GTKWave as a designer would set it up: groups, names of values, levels as analogue traces, markers.

A command file for Surfer: the signals in their groups, the markers, and the whole run in the window.

Surfer's own state files change from version to version; the commands are documented. What values are called it takes from
an FST.

A waveform as FST, of a tenth of the size: made from the VCD, because Verilator's own writer needs a library's headers.

What values of signals are called goes into the file, so that GTKWave and Surfer show it of themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from vcd.gtkw import GTKWFlag, GTKWSave

from cdma.base.errors import CdmaError, install_command

from .page import Group, Line, Names, View
from .vcd_trace import Trace


def surfer_commands(trace: Trace, view: View) -> str:
    """The commands, one a line. Groups that are closed are left out, because dividers cannot be."""
    lines = []
    for group in view.groups:
        if group.closed or not group.lines:
            continue
        lines += [f"divider_add {_word(group.title)}"] if group.title else []
        lines += [f"variable_add {trace.top.name}.{line.path}" for line in group.lines]
    lines += [f"marker_set {_word(name)} {trace.edges[cycle]}" for name, cycle in view.markers.items()]
    return "".join(f"{line}\n" for line in [*lines, "zoom_fit"])


def _word(text: str) -> str:
    """A name as one word, which is what a command takes."""
    return text.replace(" ", "_")


def write_fst(vcd: Path, fst: Path, names: Mapping[str, Names]) -> None:
    """Writes all of a VCD as FST. ``names`` are what values are called, by the full paths of signals."""
    try:
        from pylibfst import lib
    except ModuleNotFoundError:
        raise CdmaError(f"an FST takes pylibfst: {install_command('fst')}") from None

    writer = lib.fstWriterCreate(bytes(fst), 1)
    lib.fstWriterSetPackType(writer, lib.FST_WR_PT_FASTLZ)
    handles: dict[bytes, tuple[int, int]] = {}
    tables: dict[str, int] = {}
    path: list[str] = []
    with vcd.open("rb") as file:
        for line in file:
            match line.split():
                case [b"$timescale", scale, *_]:
                    lib.fstWriterSetTimescaleFromString(writer, scale)
                case [b"$scope", _, scope, b"$end"]:
                    path.append(scope.decode())
                    lib.fstWriterSetScope(writer, lib.FST_ST_VCD_MODULE, scope, b"")
                case [b"$upscope", b"$end"]:
                    path.pop()
                    lib.fstWriterSetUpscope(writer)
                case [b"$var", _, width, code, name, *of, b"$end"]:
                    _name_values(lib, writer, tables, names.get(".".join([*path, name.decode()])), int(width))
                    alias, _ = handles.get(code, (0, 0))
                    full = b" ".join([name, *of])
                    made = lib.fstWriterCreateVar(
                        writer, lib.FST_VT_VCD_WIRE, lib.FST_VD_IMPLICIT, int(width), full, alias
                    )
                    handles.setdefault(code, (made, int(width)))
                case [b"$enddefinitions", *_]:
                    break
        _write_changes(lib, writer, file, handles)
    lib.fstWriterClose(writer)


def _name_values(lib: Any, writer: Any, tables: dict[str, int], names: Names | None, bits: int) -> None:
    """Says what the values of the signal that comes next are called."""
    if names is None:
        return
    from pylibfst import ffi

    values = sorted(names.values.items())
    key = f"{bits}{values}"
    if key not in tables:
        words = [ffi.new("char[]", name.encode()) for _, name in values]
        numbers = [ffi.new("char[]", f"{value:0{bits}b}".encode()) for value, _ in values]
        tables[key] = lib.fstWriterCreateEnumTable(
            writer,
            f"names_{len(tables)}".encode(),
            len(values),
            bits,
            ffi.new("const char *[]", words),
            ffi.new("const char *[]", numbers),
        )
    lib.fstWriterEmitEnumTableRef(writer, tables[key])


def _write_changes(lib: Any, writer: Any, lines: Any, handles: Mapping[bytes, tuple[int, int]]) -> None:
    for line in lines:
        first = line[:1]
        if first == b"#":
            lib.fstWriterEmitTimeChange(writer, int(line[1:]))
        elif first in (b"b", b"B"):
            value, code = line[1:].split()
            handle, bits = handles[code]
            lib.fstWriterEmitValueChange(writer, handle, value.rjust(bits, b"0"))
        elif first in (b"0", b"1"):
            lib.fstWriterEmitValueChange(writer, handles[line[1:].rstrip()][0], first)


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
