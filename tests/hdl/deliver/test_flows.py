"""A timing analyser finds all that the constraints of several clocks name, and they leave no path between clocks out.

The crossings are mapped to a small library with their boundaries kept; all else of an engine is a black box, as
``cdma intake engine --run netlist`` follows the paths in there.
"""

from __future__ import annotations

import re
from itertools import permutations

import pytest

from cdma.base.yosys import scratch
from cdma.hdl.deliver.block import block_ports
from cdma.hdl.deliver.flows import sdc
from cdma.synth.asic.library.liberty import load_libraries
from cdma.synth.asic.netlist import synthesise
from cdma.synth.asic.paths import Circuit
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.timing import find_opensta
from tests.support.engines import CHECKED_CROSSINGS
from tests.support.paths import TINY
from tests.support.verilog_designs import kept_circuit

_CLOCKS = ("dev_aclk", "host_aclk", "s_axil_aclk")
_BLACK = ("cdma_engine_core", "cdma_engine_registers")


@pytest.fixture(scope="module")
def netlist() -> str:
    text = kept_circuit(CHECKED_CROSSINGS).text
    for module in _BLACK:
        text = re.sub(
            rf"^module {module} \(.*?\);$.*?^endmodule$",
            lambda found: (
                "(* blackbox *)\n" + found[0].split(");\n")[0].replace(" reg ", " wire ") + ");\nendmodule"
            ),
            text,
            flags=re.MULTILINE | re.DOTALL,
        )
    modules = re.findall(r"^module (\w+)", text, re.MULTILINE)
    options = Options(1.0, flip_flop_memories=True)
    circuit = Circuit("engine", CHECKED_CROSSINGS.settings(), "cdma_engine", text)
    return synthesise(circuit, load_libraries([TINY]), options, keep=modules).verilog


def _paths(netlist: str, constraints: str) -> dict[tuple[str, str], list[str]]:
    """Where paths from a clock to another one end, as OpenSTA says it, both for set-up and hold."""
    tool = find_opensta()
    assert tool is not None
    script = f"read_liberty {TINY}\nread_verilog netlist.v\nlink_design cdma_engine\nputs ===\nread_sdc mine.sdc\nputs ===\n"
    pairs = list(permutations(_CLOCKS, 2))
    for source, target in pairs:
        for delay in ("max", "min"):
            script += (
                f"foreach path [find_timing_paths -from [get_clocks {source}] -to [get_clocks {target}] -path_delay {delay} "
                "-group_count 10000] { puts [get_full_name [get_property $path endpoint]] }\n"
            )
        script += "puts ===\n"
    with scratch() as folder:
        (folder / "netlist.v").write_text(netlist)
        (folder / "mine.sdc").write_text(constraints)
        _, said, *ends = tool.run(script, folder).split("===\n")
    assert said == "", "what the constraints name is there"
    return {pair: some.split() for pair, some in zip(pairs, ends, strict=False)}


def _constraints() -> str:
    return sdc("cdma_engine", block_ports("engine", CHECKED_CROSSINGS), 1.0)


#: In the place of a longest delay: a path that has one is none of those that are left.
def _cut(constraints: str) -> str:
    return re.sub(r"^set_max_delay (.*) \S+$", r"set_false_path -setup \1", constraints, flags=re.MULTILINE)


_needs_opensta = pytest.mark.skipif(find_opensta() is None, reason="OpenSTA (sta) is not installed")


def test_what_the_constraints_name_is_in_the_verilog() -> None:
    """Without a timing analyser: each cell is a register below the instances of its path."""
    modules = {
        found[1]: found[0]
        for found in re.finditer(
            r"^module (\w+) \(.*?^endmodule$", kept_circuit(CHECKED_CROSSINGS).text, re.MULTILINE | re.DOTALL
        )
    }
    named = set(re.findall(r"get_cells \{([^}*]+)\*?\}", _constraints()))
    assert len(named) > 20
    for cell in named:
        *instances, last = cell.split("/")
        module = "cdma_engine"
        for instance in instances:
            (module,) = re.findall(rf"^  (\w+) {instance} \($", modules[module], re.MULTILINE)
        assert re.search(
            rf"^  (?:output )?(?:reg|wire) +(?:\[.*?\] )?{last}", modules[module], re.MULTILINE
        ), cell


@_needs_opensta
@pytest.mark.slow
def test_each_path_between_clocks_has_its_line(netlist: str) -> None:
    without = "".join(
        line for line in _constraints().splitlines(True) if not re.match("set_(max|false)", line)
    )
    crossing = {pair: len(ends) for pair, ends in _paths(netlist, without).items() if ends}
    assert crossing.keys() == {
        pair for core in ("dev_aclk",) for other in _CLOCKS[1:] for pair in ((core, other), (other, core))
    }
    assert not any(_paths(netlist, _cut(_constraints())).values())


@_needs_opensta
@pytest.mark.slow
def test_a_path_without_a_line_is_found(netlist: str) -> None:
    """One that is planted: an end of the crossing looks at what the other one has open."""
    end = "cdma_engine_host_crossing_bus_end bus_end ("
    head, found, rest = netlist.partition(end)
    assert found
    planted = head + end + rest.replace(".settled(finishing_settled)", ".settled(answering_settled)", 1)
    assert planted != netlist
    left = _paths(planted, _cut(_constraints()))
    assert [pair for pair, ends in left.items() if ends] == [("dev_aclk", "host_aclk")]


@_needs_opensta
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "end"),
    [
        ("max_delay", "cells {host_crossing/r/written_seen"),
        ("max_delay", "cells {host_crossing/w/output"),
        ("false_path -hold", "cells {host_crossing/bus_end/other_down_seen"),
        ("max_delay", "cells {closing/rests_seen"),
        ("false_path", "ports qactive"),
    ],
)
def test_a_line_that_is_missing_is_found(netlist: str, kind: str, end: str) -> None:
    lines = _constraints().splitlines(True)
    gone = re.compile(rf"set_{kind} .*-to \[get_{end}")
    left = [line for line in lines if not gone.match(line)]
    assert len(left) == len(lines) - 1
    assert any(_paths(netlist, _cut("".join(left))).values())
