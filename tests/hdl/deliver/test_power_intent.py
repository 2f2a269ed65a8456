"""The power intent, run in Tcl with stand-ins for the commands of UPF, which know their options."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from cdma.hdl.deliver.block import Block, block_design, block_ports
from cdma.hdl.deliver.flows import power_intent
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format

tkinter = pytest.importorskip("tkinter", reason="Python has no Tcl here")

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
    tcl = tkinter.Tcl()
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
    assert "registers.register_file.memory" in said
    assert set(said) < paths
    assert not any("path" in path.split(".") or "slots" in path.split(".") for path in said)
    assert "keep their words" not in power_intent(_block("streams"))
