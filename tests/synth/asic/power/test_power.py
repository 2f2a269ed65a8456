"""Energies that can be worked out by hand: ``tiny.lib`` has round numbers and 1 V, so a change of 1 fF takes 0.5 fJ."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest

from cdma.base.errors import CdmaError
from cdma.base.yosys import scratch
from cdma.synth.asic.library.liberty import parse_library
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.netlist import Netlist, write_library
from cdma.synth.asic.power.counted import Counts, counted_verilog, read_counts
from cdma.synth.asic.power.power import PowerModel
from cdma.synth.asic.power.power_tables import Table, crossover, power_library, rows_of, saved_pj
from cdma.synth.asic.timing import find_opensta

NS = 1e-9
VERILOG = """\
module top(input clk, input d, output q);
  wire n, k;
  INV i(.A(d), .Y(n));
  DFF f(.CK(clk), .D(n), .Q(q));
endmodule
"""


def _cell(kind: str, **pins: int) -> dict[str, object]:
    return {"type": kind, "connections": {name: [bit] for name, bit in pins.items()}, "parameters": {}}


def _netlist(cells: dict[str, dict[str, object]]) -> Netlist:
    ports = {"clk": ("input", 2), "d": ("input", 3), "q": ("output", 5)}
    module = {
        "ports": {name: {"direction": way, "bits": [bit]} for name, (way, bit) in ports.items()},
        "cells": cells,
    }
    return Netlist("top", {"top": module}, VERILOG, 0, None)


#: An inverter before a flip-flop: nets 2 to 5 are clock, input, between, output.
PLAIN = _netlist({"i": _cell("INV", A=3, Y=4), "f": _cell("DFF", CK=2, D=4, Q=5)})


def _model(tiny: Library, netlist: Netlist = PLAIN, wires: str | None = None) -> PowerModel:
    kinds = {str(cell["type"]) for cell in netlist.modules["top"]["cells"].values()}
    return PowerModel(netlist, tiny, power_library(tiny, kinds | {tiny.driver.name}, wires), "clk")


def _counts(**changes: int) -> Counts:
    """11 cycles, in which each net is 0 but for the ``ones`` that are given as ``oneN``."""
    nets = {net: changes.get(f"n{net}", 0) for net in range(2, 7)}
    return Counts(11, nets, {net: changes.get(f"one{net}", 0) for net in nets})


def test_a_change_takes_what_the_cell_and_its_load_take(tiny: Library) -> None:
    power = _model(tiny).power(_counts(n3=10, n4=10), NS)
    # Rise 6, fall 2, and 1 more at 100 fF, of which there is one: 4.01 within the inverter, and 1 fF at 1 V.
    assert power.logic == pytest.approx((4.01 + 0.5) * 1e-15 / NS)
    # Two edges of the clock at a pin of 1 fF, and within the flip-flop 6 each, because its input is 0.
    assert power.clock == pytest.approx(2 * (6 + 0.5) * 1e-15 / NS)
    assert power.registers == 0


def test_a_condition_counts_by_the_share_of_the_time_in_which_it_holds(tiny: Library) -> None:
    power = _model(tiny).power(_counts(one4=11), NS)
    assert power.clock == pytest.approx(2 * (2 + 0.5) * 1e-15 / NS)
    assert _model(tiny).power(_counts(one3=11), NS).leakage == pytest.approx(4e-9)
    assert _model(tiny).power(_counts(), NS).leakage == pytest.approx(2e-9)


def test_a_register_charges_its_load(tiny: Library) -> None:
    assert _model(tiny).power(_counts(n5=10), NS).registers == pytest.approx(0.5 * 4 * 1e-15 / NS)


def test_wires_are_loads_too(tiny: Library) -> None:
    """2 fF for each length; a net with one load has the length 1."""
    power = _model(tiny, wires="tiny_wires").power(_counts(n5=10), NS)
    assert power.registers == pytest.approx(0.5 * (4 + 2) * 1e-15 / NS)


def test_a_gated_clock_takes_only_where_it_rises(tiny: Library) -> None:
    gated = _netlist(
        {
            "i": _cell("INV", A=3, Y=4),
            "g": _cell("CLOCKGATE", CK=2, E=3, GCK=6),
            "f": _cell("DFF", CK=6, D=4, Q=5),
        }
    )
    # The gate's own pin: 2 within it and 1 fF; the flip-flop behind it: 6, and its pin.
    always = (2 + 0.5) + (6 + 0.5)
    assert _model(tiny, gated).power(_counts(one6=11), NS).clock == pytest.approx(2 * always * 1e-15 / NS)
    assert _model(tiny, gated).power(_counts(), NS).clock == pytest.approx(2 * 2.5 * 1e-15 / NS)


def test_the_netlist_that_counts_has_every_net(tiny: Library) -> None:
    text = counted_verilog(PLAIN, power_library(tiny, ["INV", "DFF"]), "clk")
    assert re.search(r"assign n4 = \W*n3\W*;", text)
    assert re.search(r"always @\(posedge n2\) s\d+ <= n4;", text)
    lines = "\n".join(["cycles 7", *(f"{net} {net + 1}" for net in range(32))])
    (counts,) = read_counts(lines, PLAIN)
    assert (counts.cycles, counts.changes, counts.ones[5]) == (7, {2: 0, 3: 1, 4: 2, 5: 3}, 4)
    with pytest.raises(CdmaError, match="ended before"):
        read_counts("cycles 7\n1 2\n", PLAIN)


def test_a_clock_behind_two_gates_rises_with_both(tiny: Library) -> None:
    gates = _netlist(
        {
            "g": _cell("CLOCKGATE", CK=2, E=3, GCK=6),
            "h": _cell("CLOCKGATE", CK=6, E=3, GCK=7),
            "f": _cell("DFF", CK=7, D=3, Q=5),
        }
    )
    text = counted_verilog(gates, power_library(tiny, ["CLOCKGATE", "DFF"]), "clk")
    assert re.search(r"assign r6 = s\d+;", text)
    assert re.search(r"assign r7 = s\d+ & r6;", text)


def test_a_table_between_its_entries_and_beyond_them() -> None:
    table = Table((0.0, 1.0), (0.0, 10.0), ((0.0, 10.0), (2.0, 12.0)))
    assert table.at(0.5, 5) == pytest.approx(6)
    assert (table.at(-1, -1), table.at(9, 99)) == (0, 12)


def test_a_condition_is_rows_of_pins() -> None:
    assert rows_of("!A & B") == (("A", "B"), ((False, True),))


def test_a_library_without_power_is_refused(tiny: Library) -> None:
    def without(*words: str) -> Library:
        text = b"\n".join(
            line for line in tiny.texts[0].splitlines() if not any(word.encode() in line for word in words)
        )
        return replace(tiny, texts=(text,))

    assert power_library(tiny, ["INV"]).cells["INV"].leakage
    with pytest.raises(CdmaError, match="nom_voltage"):
        power_library(without("nom_voltage"), ["INV"])
    with pytest.raises(CdmaError, match="nothing of power"):
        power_library(tiny, ["NAND2"])
    with pytest.raises(CdmaError, match="no wire load model 'wide'; it has tiny_wires"):
        power_library(tiny, ["INV"], "wide")
    assert parse_library(tiny.texts[0], "tiny").cells.keys() == tiny.cells.keys()


@pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA (sta) is not installed")
def test_leakage_is_that_of_opensta(tiny: Library) -> None:
    """Its Debian version takes one activity for all nets."""
    opensta = find_opensta()
    assert opensta is not None
    script = """\
read_verilog netlist.v
link_design top
create_clock -name clk -period 1 [get_ports clk]
set_load 4 [get_ports q]
set_power_activity -global -activity 0.2 -duty 0.5
report_power -digits 8
"""
    with scratch() as folder:
        (folder / "netlist.v").write_text(VERILOG)
        (name,) = write_library(tiny, folder)
        said = opensta.run(f"read_liberty {name}\n{script}", folder)
    (line,) = (line for line in said.splitlines() if line.startswith("Total"))
    leakage = line.split()[3]
    power = _model(tiny).with_rate(0.2, NS)
    assert power.leakage == pytest.approx(float(leakage), rel=1e-4)


def test_a_link_saves_up_to_a_density() -> None:
    assert saved_pj(100, 75, 5) == pytest.approx(10)
    assert saved_pj(100, 103, 10) == pytest.approx(-2.4)
    assert crossover([(0.5, 3.0), (1.0, -1.0)]) == pytest.approx(0.875)
    assert crossover([(1.0, 1.0), (0.5, 3.0)]) == 1.0
    assert crossover([(0.5, -1.0), (1.0, -3.0)]) is None
