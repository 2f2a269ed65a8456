"""The save file for GTKWave: what a designer would set up by hand is there, and every file that it names lies beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdma.verif.simulator.gtkwave import write_gtkw
from cdma.verif.simulator.page import Group, Names, View, lines_of
from cdma.verif.simulator.vcd_trace import Changes, Scope, Trace


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
