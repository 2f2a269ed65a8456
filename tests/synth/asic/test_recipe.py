"""What the recipe refuses."""

from dataclasses import replace

import pytest

from cdma.synth.asic.netlist import synthesise
from cdma.synth.asic.recipe import Options
from cdma.synth.errors import LibraryError, MeasureError
from tests.support.small_circuits import circuit


def test_no_clock_gate(tiny):
    library = replace(tiny, cells={name: cell for name, cell in tiny.cells.items() if name != "CLOCKGATE"})
    with pytest.raises(
        LibraryError, match=r"^tiny has no clock gate for a rising clock; measure without clock gating$"
    ):
        synthesise(circuit("always @(posedge clk) q <= d;"), library, Options(clock_gating=True))


@pytest.mark.parametrize("period", [0, -1, 1e6, float("nan")])
def test_impossible_periods(period):
    with pytest.raises(MeasureError, match=r"^the clock period is .* ns; it must be from 0\.001 to 1000$"):
        Options(target_ns=period)
