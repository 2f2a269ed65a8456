"""Clock gates change no bit and no cycle: each test of the regression on a block with them and one without, side by side."""

from __future__ import annotations

import dataclasses

import pytest

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.verif.campaigns.regression import verify
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.simulate import in_lockstep
from tests.support.thorough import cases_of

pytestmark = [pytest.mark.verilator, pytest.mark.slow]

_CODEC = CodecConfig(Format(8), 2, clock_gates=True)
_TABLE = CodecConfig(Format(16, 32, 2, (0, 1)), 4, runtime_values=True, queue=0, clock_gates=True)
_ENGINE = dataclasses.replace(SMALL, clock_gates=True)
DESIGNS: dict[str, Design] = {
    "compressor": CodecDesign("compressor", _CODEC),
    "decompressor": CodecDesign("decompressor", _CODEC),
    "compressor with a table": CodecDesign("compressor", _TABLE),
    "decompressor with a table": CodecDesign("decompressor", _TABLE),
    "engine": EngineDesign(_ENGINE),
    "engine without registers": EngineDesign(
        dataclasses.replace(_ENGINE, registers=False, quiescence=True, register_slices="out")
    ),
    "engine of units, with checked memories": EngineDesign(
        dataclasses.replace(_ENGINE, units=2, stripe_bytes=256, memories_protect="secded")
    ),
    "engine with queue pairs": EngineDesign(
        dataclasses.replace(_ENGINE, channels=3, msi=True, pages=True, quiescence=True)
    ),
    "engine with shapes, pages and a stage": EngineDesign(
        dataclasses.replace(_ENGINE, dimensions=2, pages=True, lossy="fp32", crc=True, quiescence=True)
    ),
}
#: All tests are for ``make thorough``; of one codec those in which most stands still are for every run.
_ALWAYS = {"decompressor"}


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
