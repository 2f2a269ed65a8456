"""The power intent, run in Tcl with stand-ins for the commands of UPF, which know their options.

A timing analyser finds all that the constraints of several clocks name, and they leave no path between clocks out.

The crossings are mapped to a small library with their boundaries kept; all else of an engine is a black box, as
``cdma intake engine --run netlist`` follows the paths in there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import permutations

import pytest

from cdma.base.yosys import scratch
from cdma.hdl.deliver.block import Block, block_design, block_ports
from cdma.hdl.deliver.flows import power_intent, sdc
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
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


#: The options of each command that IEEE 1801-2013 has and that is used.
COMMANDS = {
    "upf_version": "",
    "set_design_top": "",
    "set_scope": "",
    "create_supply_port": "-domain -direction",
    "create_supply_net": "-domain -reuse -resolve",
    "connect_supply_net": "-ports -pg_type -vct -cells -domain -pins",
    "create_supply_set": "-function -reference_gnd -update",
    "create_power_domain": "-simulation_only -atomic -elements -exclude_elements -supply -available_supplies -update",
    "add_power_state": "-supply -domain -state -update -complete",
    "create_logic_port": "-direction",
    "create_logic_net": "",
    "connect_logic_net": "-ports -reconnect",
    "set_isolation": "-domain -ref_name -elements -exclude_elements -source -sink -diff_supply_only -use_equivalence "
    "-applies_to -applies_to_clamp -applies_to_sink_off_clamp -applies_to_source_off_clamp -no_isolation "
    "-force_isolation -location -clamp_value -isolation_signal -isolation_sense -isolation_supply_set -name_prefix "
    "-name_suffix -instance -update",
    "set_retention": "-domain -elements -exclude_elements -retention_supply_set -no_retention -save_signal "
    "-restore_signal -save_condition -restore_condition -retention_condition -use_retention_as_primary -parameters "
    "-instance -transitive -update",
}
#: Commands that make something of the name that comes first.
_MAKERS = ("create_supply_port", "create_supply_set", "create_power_domain", "create_logic_port")

SMALL = EngineConfig(Format(16), 4, 64, 64, latency=16, burst_beats=8, quiescence=True)
CONFIGS = {
    "compressor": CodecConfig(Format(8), 2),
    "engine": SMALL,
    "streams": replace(SMALL, registers=False),
}

Command = tuple[str, list[str], dict[str, list[str]]]


@cache
def _block(kind: str) -> Block:
    block = kind if kind == "compressor" else "engine"
    config = CONFIGS[kind]
    design = block_design(block, config, name="mine")
    return Block("mine", "", "", block, config, block_ports(block, config), design, {}, {}, vectors=None)  # type: ignore[arg-type]


def _commands(text: str, *, retain: bool) -> list[Command]:
    """The commands of a text as Tcl sees them: name, arguments without an option, and options with all their values."""
    tcl = pytest.importorskip("tkinter", reason="Python has no Tcl here").Tcl()
    run: list[Command] = []
    tcl.setvar("retain", int(retain))

    def stand_in(name: str) -> None:
        def command(*words: str) -> None:
            plain: list[str] = []
            options: dict[str, list[str]] = {}
            rest = iter(words)
            for word in rest:
                if not word.startswith("-"):
                    plain.append(word)
                    continue
                assert word in COMMANDS[name].split(), f"{name} has no {word}"
                options.setdefault(word, []).append(next(rest))
            run.append((name, plain, options))

        tcl.createcommand(name, command)

    for name in COMMANDS:
        stand_in(name)
    tcl.eval(text)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONFIGS)
def test_every_output_is_isolated_in_a_domain_whose_supplies_and_controls_exist(kind: str) -> None:
    block = _block(kind)
    run = _commands(power_intent(block), retain=True)
    made = {plain[0] for name, plain, _ in run if name in _MAKERS}
    options = {name: given for name, _, given in run}
    isolation, retention = options["set_isolation"], options["set_retention"]
    outputs = [port.name for port in block.ports if port.direction == "output"]
    assert isolation["-elements"][0].split() == outputs
    assert isolation["-clamp_value"] == ["0"]
    named = [word for each in (isolation, retention) for word in each["-domain"]]
    named += (
        isolation["-isolation_supply_set"]
        + retention["-retention_supply_set"]
        + isolation["-isolation_signal"]
    )
    named += [retention[f"-{what}_signal"][0].split()[0] for what in ("save", "restore")]
    functions = [
        text.split() for name, _, given in run if name == "create_supply_set" for text in given["-function"]
    ]
    assert {function for function, _ in functions} == {"power", "ground"}
    named += [net for _, net in functions]
    assert made >= set(named)


@pytest.mark.slow
def test_nothing_is_retained_unless_it_is_asked_for() -> None:
    text = power_intent(_block("engine"))
    assert "set_retention" not in [name for name, _, _ in _commands(text, retain=False)]


@pytest.mark.thorough
def test_the_memories_that_must_be_kept_are_those_of_registers_and_rings() -> None:
    said = re.findall(r"^#   (\S+)$", power_intent(_block("engine")), re.MULTILINE)
    paths = {memory.path for memory in _block("engine").design.memories}
    assert "engine.front.registers.register_file.memory" in said
    assert set(said) < paths
    assert not any("path" in path.split(".") or "slots" in path.split(".") for path in said)
    assert "keep their words" not in power_intent(_block("streams"))
