"""A waveform as FST, of a tenth of the size: made from the VCD, because Verilator's own writer needs a library's headers.

What values of signals are called goes into the file, so that GTKWave and Surfer show it of themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdma.base.errors import CdmaError
from cdma.base.install import install_command

from .view import Names

__all__ = ["write_fst"]


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
