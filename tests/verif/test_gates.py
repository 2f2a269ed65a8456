"""The regression on netlists of gates: codecs pass it in both simulators, and a gate that is another one does not. Clock
gates change no bit and no cycle: each test of the regression on a block with them and one without, side by side.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.synth.asic.paths import LibraryError, gate_netlist
from cdma.verif.campaigns.regression import verify
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.commands import Refused
from tests.support.engines import engines_of
from tests.support.paths import ROOT
from tests.support.simulate import in_lockstep, needs_icarus
from tests.support.thorough import cases_of

LIBERTY = ROOT / "tests" / "support" / "tiny.lib"
TINY = CodecConfig(Format(8, 8), 2)


def _failed(
    block: str, netlist: str, *, tests: list[str] | None = None, four_state: bool = False
) -> dict[str, str]:
    design = CodecDesign(block, TINY, init=False)
    outcomes = verify(design, tests=tests, packets=20, verilog=netlist, four_state=four_state).outcomes
    return {outcome.test: outcome.failure for outcome in outcomes if outcome.failure is not None}


def _netlist(block: str, *liberty: Path) -> str:
    design = CodecDesign(block, TINY, init=False)
    return gate_netlist(design.verilog(), design.top, liberty)


@pytest.mark.verilator
@pytest.mark.slow
def test_from_random_start_values() -> None:
    netlist = _netlist("decompressor")
    assert not re.search(r"(\+|<=? |==).*;", "".join(re.findall(r"^  assign .*$", netlist, re.MULTILINE)))
    assert not _failed("decompressor", netlist)


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
def test_an_engine() -> None:
    """All of it but its memories, with resets and errors: gates from random start values."""
    design = EngineDesign(SMALL, init=False)
    netlist = gate_netlist(design.verilog(), design.top)
    outcomes = verify(
        design,
        tests=["soak", "bus_errors", "aborts", "hard_resets", "ring_windows"],
        packets=20,
        verilog=netlist,
    ).outcomes
    assert len(outcomes) == 5
    assert not [outcome for outcome in outcomes if outcome.failure is not None]


@needs_icarus
@pytest.mark.slow
def test_four_states() -> None:
    assert not _failed("compressor", _netlist("compressor"), tests=["soak", "reset"], four_state=True)


@needs_icarus
@pytest.mark.slow
def test_cells_of_a_library() -> None:
    netlist = _netlist("decompressor", LIBERTY)
    assert not _failed("decompressor", netlist, tests=["soak"], four_state=True)
    cells = set(re.findall(r"^  (\w+) \w+ \(", netlist, re.MULTILINE))
    assert len(cells) > 3
    wrong = re.sub(r"^(  assign \w+ = .*) & ", r"\1 | ", netlist, count=1, flags=re.MULTILINE)
    assert wrong != netlist
    assert _failed("decompressor", wrong, tests=["soak"], four_state=True)


@pytest.mark.slow
def test_a_memory_stays_a_memory() -> None:
    design = CodecDesign("decompressor", CodecConfig(Format(8, 8), 2, pipelined=True), init=False)
    memories = re.findall(r"^module (\w+_ram_\w+) \(", design.verilog(), re.MULTILINE)
    netlist = gate_netlist(design.verilog(), design.top)
    assert memories
    assert set(re.findall(r"^module (\w+) ?\(", netlist, re.MULTILINE)) == {design.top, *memories}


def test_refusals(tmp_path: Path, refused: Refused) -> None:
    assert "--liberty is given without --netlist gates" in refused(
        "verify", "compressor", "--liberty", "x.lib"
    )
    with pytest.raises(LibraryError, match="cannot be read"):
        gate_netlist("", "top", [tmp_path / "none.lib"])


_CODEC = CodecConfig(Format(8), 2, clock_gates=True)
_TABLE = CodecConfig(Format(16, 32, 2, (0, 1)), 4, runtime_values=True, queue=0, clock_gates=True)
_ENGINES = """
engine: SMALL clock_gates;
engine without registers: SMALL clock_gates registers=false quiescence register_slices=out;
engine of units, with checked memories: SMALL clock_gates units=2 stripe_bytes=256 memories_protect=secded;
engine with queue pairs: SMALL clock_gates channels=3 msi pages quiescence;
engine with shapes, pages and a stage: SMALL clock_gates dimensions=2 pages lossy=fp32 crc quiescence;
"""
DESIGNS: dict[str, Design] = {
    "compressor": CodecDesign("compressor", _CODEC),
    "decompressor": CodecDesign("decompressor", _CODEC),
    "compressor with a table": CodecDesign("compressor", _TABLE),
    "decompressor with a table": CodecDesign("decompressor", _TABLE),
    **{name: EngineDesign(config) for name, (config, _) in engines_of(_ENGINES, globals()).items()},
}
#: All tests are for ``make thorough``; of one codec those in which most stands still are for every run.
_ALWAYS = {"decompressor"}


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("design", cases_of(DESIGNS, set(DESIGNS) - _ALWAYS))
def test_a_block_with_clock_gates_is_cycle_for_cycle_that_without(design: Design) -> None:
    always = design is DESIGNS["decompressor"]
    result = verify(
        design,
        tests=["patience", "reset", "corrupt"] if always else None,
        packets=10 if always else None,
        verilog=in_lockstep(design),
    )
    assert result.passed, [(each.test, each.failure) for each in result.outcomes if each.failure]
