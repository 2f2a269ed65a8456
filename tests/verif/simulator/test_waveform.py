"""A trace has what the clock's edges see, from a VCD as Verilator writes it. The save file for GTKWave: what a designer
would set up by hand is there, and every file that it names lies beside it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdma.verif.simulator.page import Group, Names, View, lines_of, state_names
from cdma.verif.simulator.vcd_trace import Changes, Scope, Trace, read_trace
from cdma.verif.simulator.waveform import write_gtkw

VCD = """\
$timescale 1ps $end
 $scope module $rootio $end
  $var wire 1 ! aclk $end
 $upscope $end
 $scope module top $end
  $var wire 1 ! aclk $end
  $var wire 4 " port [3:0] $end
  $scope module part $end
   $var wire 4 " same [3:0] $end
   $var wire 1 # pulse $end
   $var wire 1 % state $end
   $var wire 1 & STATE_OFF $end
   $var wire 1 ' STATE_ON $end
  $upscope $end
 $upscope $end
 $scope module other $end
  $var wire 1 ( port $end
 $upscope $end
$enddefinitions $end
#0
0!
b0001 "
0#
0%
0&
1'
#5
1!
b0010 "
#7
1#
#8
0#
#10
0!
#12
b0011 "
#15
1!
1%
#20
0!
#25
1!
"""


@pytest.fixture
def vcd(tmp_path: Path) -> Path:
    path = tmp_path / "run.vcd"
    path.write_text(VCD)
    return path


def test_changes_at_an_edge_are_seen_by_the_next_one(vcd: Path) -> None:
    trace = read_trace(vcd, "top", ["port", "part.pulse"])
    assert [cycle["port"] for cycle in trace.cycles] == [1, 3, 3]
    assert list(trace.edges) == [5, 15, 25]
    assert trace.end == 25
    # A pulse between two edges is seen by none.
    assert [cycle["part.pulse"] for cycle in trace.cycles] == [0, 0, 0]


def test_nothing_is_ready_where_its_own_clock_has_no_edge(tmp_path: Path) -> None:
    path = tmp_path / "run.vcd"
    names = {"!": "aclk", '"': "b_aclk", "#": "a_ready", "$": "b_ready"}
    lines = [
        "$scope module top $end",
        *(f"$var wire 1 {code} {name} $end" for code, name in names.items()),
        "$upscope $end",
        "$enddefinitions $end",
        *("#0", "0!", '0"', "1#", "1$"),
        *("#5", "1!", "#7", '1"', "#9", "0!", '0"', "#11", "1!", '1"'),
    ]
    path.write_text("\n".join([*lines, ""]))
    trace = read_trace(path, "top", ["a_ready", "b_ready"], {"b_ready": "b_aclk"})
    assert list(trace.edges) == [5, 7, 11]
    assert [(cycle["a_ready"], cycle["b_ready"]) for cycle in trace.cycles] == [(1, 0), (0, 1), (1, 1)]


def test_every_signal_of_the_top_is_there_by_its_path(vcd: Path) -> None:
    trace = read_trace(vcd, "top", [])
    assert sorted(trace.signals) == [
        "aclk",
        "part.STATE_OFF",
        "part.STATE_ON",
        "part.pulse",
        "part.same",
        "part.state",
        "port",
    ]
    assert trace.signals["part.same"] is trace.signals["port"]
    assert (trace.signals["port"].cycles, trace.signals["port"].values) == ([0, 1], [1, 3])
    assert [scope.name for scope in trace.top.scopes] == ["part"]


def test_parameters_beside_a_state_name_its_values(vcd: Path) -> None:
    trace = read_trace(vcd, "top", [])
    assert trace.constants("part") == {"STATE_OFF": 0, "STATE_ON": 1}
    assert trace.constants("") == {}
    names = state_names(trace, "part.state")
    assert names is not None
    assert names.values == {0: "OFF", 1: "ON"}
    assert state_names(trace, "part.pulse") is None


def test_a_top_that_is_not_there_is_refused(vcd: Path) -> None:
    with pytest.raises(ValueError, match="has no instance of elsewhere"):
        read_trace(vcd, "elsewhere", [])


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """The save file of a run with a level, a status that is an error once, and a state."""
    signals = {name: Changes(bits) for name, bits in (("status", 8), ("a.b.level", 4), ("a.fsm_state", 2))}
    for value, name in enumerate(("IDLE", "RUN")):
        signals[f"a.FSM_STATE_{name}"] = Changes(2, [0], [value])
    trace = Trace(Scope("top"), [], signals, [5, 15, 25], 30)
    names = Names({0: "OK", 19: "BROKEN"}, frozenset({19}))
    groups = [
        Group("", lines_of(trace, ["status"], names=names)),
        Group("stage", lines_of(trace, ["a.fsm_state"])),
        Group("levels", lines_of(trace, ["a.b.level"], base="analog", within="a."), closed=True),
    ]
    write_gtkw(tmp_path / "run.gtkw", "run.vcd", trace, View(groups, markers={"begin": 0, "end": 2}))
    return (tmp_path / "run.gtkw").read_text()


def file_of(saved: str, signal: str, folder: Path) -> str:
    """What the translate file of a signal has, found as GTKWave finds it: by the way from the save file to it."""
    (own,) = re.findall(r'^\[savefile\] "(.*)"$', saved, re.MULTILINE)
    before = saved[: saved.index(signal)]
    path = re.findall(r"^\^\d+ (.+)$", before, re.MULTILINE)[-1]
    return (folder / Path(path).relative_to(Path(own).parent)).read_text()


def test_values_have_names_and_errors_are_red(saved: str, tmp_path: Path) -> None:
    assert file_of(saved, "top.status[7:0]", tmp_path) == "00 OK\n13 ?red?BROKEN\n"
    assert file_of(saved, "top.a.fsm_state[1:0]", tmp_path) == "0 IDLE\n1 RUN\n"


def test_markers_have_names_and_times(saved: str) -> None:
    assert re.search(r"^\*\S+ 5 5 25 -1", saved, re.MULTILINE)
    assert re.findall(r"^\[markername\] (.*)$", saved, re.MULTILINE) == ["Abegin", "Bend"]


def test_a_level_is_an_analogue_trace_that_says_where_it_is(saved: str) -> None:
    lines = saved[: saved.index("-levels", saved.index("level[3:0]"))].splitlines()
    at = lines.index("+{b level} top.a.b.level[3:0]")
    flags = [int(line[1:], 16) for line in lines[:at] if line.startswith("@")][-1]
    # Of GTKWave's flags: an analogue trace in steps, of decimal numbers; and below it the rows that it stretches over.
    assert flags & 0x8000
    assert flags & 0x4
    assert int(lines[at + 1][1:], 16) & 0x20000
    assert lines[at + 2] == "-"


def test_groups_are_in_order_and_closed_as_asked(saved: str) -> None:
    assert re.findall(r"^-(\w+)$", saved, re.MULTILINE) == ["stage", "stage", "levels", "levels"]
    opened = [int(flags, 16) for flags in re.findall(r"^@(\w+)\n-(?:stage|levels)$", saved, re.MULTILINE)]
    # Bit 12 of the flags of a group is that it is closed, and bit 23 that it begins.
    assert [bool(flags & 0x800000) for flags in opened[::2]] == [True, True]


def test_no_path_of_this_machine_is_in_it(saved: str, tmp_path: Path) -> None:
    assert str(tmp_path) not in saved
