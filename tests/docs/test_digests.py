"""Digests of what records are about: what is no change leaves them, and what is one does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.hdl._ir import Fragment, PortDirection, build_netlist

from docs.results.__main__ import stale
from docs.results.digests import changed, digests, needs_card
from docs.results.netlist_digest import digest_of_netlist
from docs.results.page import pages
from docs.results.records import Record, load
from docs.results.source_digest import digest_of_sources

_PYTHON = '"""What it is."""\ndef sum_of(a: int, b: int) -> int:\n    """Adds."""\n    return a + b  # both\n'
_C = "#define STEP 2\nint f(int a) { /* next */ return a + STEP; }\n"


def _digest(
    *,
    name: str = "total",
    inside: bool = False,
    unread: bool = False,
    gate: Callable[[Value, Value], Value] = lambda a, b: a & b,
    init: int = 0,
) -> str:
    """Of a register that adds up what a gate of two inputs gives; the gate may stand in a module of its own."""
    a, b, out = Signal(4, name="a"), Signal(4, name=f"b_{name}"), Signal(8, name="out")
    both, total = Signal(4), Signal(8, name=name, init=init)
    top = Module()
    place = Module() if inside else top
    if inside:
        top.submodules.inner = place
    place.d.comb += both.eq(gate(a, b))
    top.d.sync += total.eq(total + both)
    top.d.comb += out.eq(total)
    if unread:
        top.d.sync += Signal(3).eq(a)
    ways = {
        "a": (a, PortDirection.Input),
        b.name: (b, PortDirection.Input),
        "out": (out, PortDirection.Output),
    }
    ports = [(port, *signal) for port, signal in ways.items()]
    return digest_of_netlist(build_netlist(Fragment.get(top, None), ports))


def test_a_name_a_move_and_what_nothing_reads_leave_the_digest_of_a_circuit() -> None:
    assert _digest() == _digest(name="sum") == _digest(inside=True) == _digest(unread=True)


def test_a_gate_and_a_value_after_reset_change_the_digest_of_a_circuit() -> None:
    gates: list[Callable[[Value, Value], Value]] = [
        lambda a, b: a & b,
        lambda a, b: a | b,
        lambda a, b: a & b.rotate_left(1),
    ]
    assert len({*(_digest(gate=gate) for gate in gates), _digest(init=1)}) == 4


@pytest.mark.parametrize(
    ("suffix", "text", "same", "other"),
    [
        (
            ".py",
            _PYTHON,
            _PYTHON.replace("Adds", "Sum").replace("  # both", "\n\n"),
            _PYTHON.replace("+", "-"),
        ),
        (".c", _C, _C.replace("/* next */ ", "// so\n"), _C.replace("a + STEP", "a - STEP")),
        (".c", _C, "/* the step */\n" + _C, _C.replace("STEP 2", "STEP 3")),
    ],
)
def test_comments_leave_the_digest_of_sources_and_expressions_change_it(
    tmp_path: Path, suffix: str, text: str, same: str, other: str
) -> None:
    found = []
    for number, each in enumerate((text, same, other)):
        path = tmp_path / f"{number}{suffix}"
        path.write_text(each)
        found.append(digest_of_sources([path]))
    assert found[0] == found[1] != found[2]


def test_a_command_has_a_recipe_and_what_it_measures() -> None:
    quick = (
        "cdma bench software",
        "cdma bench saved",
        "cdma study bench lossy",
        "cdma study bench bounded",
        "python",
    )
    for record in load().values():
        if record.command.startswith(quick):
            assert "recipe" in digests(record.command)
    assert {*digests("cdma bench software --format zvc32 --rounds 6")} == {"sources", "recipe"}
    command = "cdma area compressor --lanes 2"
    assert {*digests(command)} == {"circuit", "recipe"}
    # The same circuit by another command has another recipe.
    assert digests(command)["circuit"] == digests(f"{command} --period 0.9")["circuit"]
    assert digests(command)["recipe"] != digests(f"{command} --period 0.9")["recipe"]
    assert digests(command)["circuit"] != digests("cdma area compressor --lanes 4")["circuit"]


def test_stale_records_are_told_and_only_a_card_excuses_them(capsys: pytest.CaptureFixture[str]) -> None:
    command, card = "cdma area compressor --lanes 2", Record("cdma bench saved --networks vgg16")
    fresh = Record(command, digests=digests(command))
    other = replace(fresh, digests=digests(command) | {"circuit": "0"})
    assert needs_card(card)
    assert changed(fresh) == []
    assert not stale({"fresh": fresh, "card": card})
    assert capsys.readouterr().out == "card: never compared, needs a card\n1 of 2 records are stale\n"
    assert stale({"fresh": fresh, "other": other})
    assert capsys.readouterr().out == "other: another circuit\n1 of 2 records are stale\n"


def test_a_page_marks_what_is_stale() -> None:
    records = load()
    for old in (False, True):
        record = replace(records["compressor"], revision="0123abc", stale=old)
        text = pages(records | {"compressor": record})["results.md"]
        assert ("| 0123abc† |" in text) == old
        assert ("| 0123abc |" in text) != old
