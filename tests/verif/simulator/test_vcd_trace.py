"""A trace has what the clock's edges see, from a VCD as Verilator writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.verif.simulator.page import state_names
from cdma.verif.simulator.vcd_trace import read_trace

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
