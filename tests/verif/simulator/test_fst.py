"""An FST has the changes of the VCD, and what values are called; Surfer's commands name signals that are there."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any

import pytest

from cdma.base.errors import CdmaError
from cdma.verif.simulator.gtkwave import surfer_commands, write_fst
from cdma.verif.simulator.page import Group, Names, View, lines_of, names_of
from cdma.verif.simulator.vcd_trace import read_trace

VCD = """\
$timescale 1ps $end
 $scope module $rootio $end
  $var wire 1 ! aclk $end
 $upscope $end
 $scope module top $end
  $var wire 1 ! aclk $end
  $scope module part $end
   $var wire 2 " fsm_state [1:0] $end
   $var wire 2 # FSM_STATE_IDLE [1:0] $end
   $var wire 2 $ FSM_STATE_RUN [1:0] $end
   $var wire 40 % wide [39:0] $end
   $var wire 40 % same [39:0] $end
  $upscope $end
 $upscope $end
$enddefinitions $end
#0
0!
b00 "
b00 #
b01 $
b0 %
#5
1!
b01 "
b1111111111000000000011111111110000000000 %
#10
0!
#15
1!
b00 "
b101 %
"""


@pytest.fixture
def vcd(tmp_path: Path) -> Path:
    path = tmp_path / "run.vcd"
    path.write_text(VCD)
    return path


def test_an_fst_has_what_the_vcd_has(vcd: Path) -> None:
    pylibfst = pytest.importorskip("pylibfst")
    fst = vcd.with_suffix(".fst")
    names = Names({0: "IDLE", 1: "RUN"})
    write_fst(vcd, fst, {"top.part.fsm_state": names})
    lib, ffi = pylibfst.lib, pylibfst.ffi
    reader = lib.fstReaderOpen(bytes(fst))
    assert lib.fstReaderGetTimescale(reader) == -12
    _, signals = pylibfst.get_scopes_signals2(reader)
    by_name = {name: signal.handle for name, signal in signals.by_name.items()}
    assert sorted(by_name) == [
        "$rootio.aclk",
        "top.aclk",
        "top.part.FSM_STATE_IDLE [1:0]",
        "top.part.FSM_STATE_RUN [1:0]",
        "top.part.fsm_state [1:0]",
        "top.part.same [39:0]",
        "top.part.wide [39:0]",
    ]
    assert by_name["top.part.same [39:0]"] == by_name["top.part.wide [39:0]"]
    changes: list[tuple[int, int, str]] = []

    def keep(_: Any, time: int, handle: int, value: Any) -> None:
        changes.append((time, handle, ffi.string(value).decode()))

    lib.fstReaderSetFacProcessMaskAll(reader)
    pylibfst.fstReaderIterBlocks(reader, keep)
    lib.fstReaderClose(reader)
    of = {name.rpartition(".")[2].split()[0]: [] for name in by_name}
    for name, handle in by_name.items():
        of[name.rpartition(".")[2].split()[0]] = [
            (time, value) for time, which, value in changes if which == handle
        ]
    assert of["aclk"] == [(0, "0"), (5, "1"), (10, "0"), (15, "1")]
    assert of["fsm_state"] == [(0, "00"), (5, "01"), (15, "00")]
    assert of["wide"] == [(0, "0" * 40), (5, ("1" * 10 + "0" * 10) * 2), (15, "0" * 37 + "101")]
    # GTKWave and Surfer read the names from a table in the file.
    assert fst.stat().st_size > 0
    tables = _tables(lib, ffi, fst)
    assert any("IDLE RUN 00 01" in table for table in tables), tables


def _tables(lib: Any, ffi: Any, fst: Path) -> list[str]:
    """The tables of names in a file."""
    reader = lib.fstReaderOpen(bytes(fst))
    found = []
    while (entry := lib.fstReaderIterateHier(reader)) != ffi.NULL:
        if entry.htyp == lib.FST_HT_ATTRBEGIN and entry.u.attr.subtype == lib.FST_MT_ENUMTABLE:
            found.append(ffi.string(entry.u.attr.name).decode())
    lib.fstReaderClose(reader)
    return found


def test_without_the_library_the_extra_is_named(vcd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "pylibfst":
            raise ModuleNotFoundError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CdmaError, match=r"an FST takes pylibfst: pip install .*\[fst\]"):
        write_fst(vcd, vcd.with_suffix(".fst"), {})


def test_the_commands_for_surfer_name_signals_that_are_there(vcd: Path) -> None:
    trace = read_trace(vcd, "top", ["aclk"])
    groups = [
        Group("", lines_of(trace, ["aclk"])),
        Group("a stage", lines_of(trace, ["part.fsm_state", "part.wide"])),
        Group("closed", lines_of(trace, ["part.same"]), closed=True),
    ]
    view = View(groups, markers={"last beat": 1})
    assert surfer_commands(trace, view).splitlines() == [
        "variable_add top.aclk",
        "divider_add a_stage",
        "variable_add top.part.fsm_state",
        "variable_add top.part.wide",
        "marker_set last_beat 15",
        "zoom_fit",
    ]
    assert all(re.fullmatch(r"[\w.]+", path) for path in trace.signals)
    assert names_of(trace, view) == {"top.part.fsm_state": Names({0: "IDLE", 1: "RUN"})}
