"""An engine on a DRAM controller: tensors go out and back, at what the controller gives, and groups help where both wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.dram import check_dram, measure_on_dram

_CONFIG = EngineConfig(lanes=4, dev_data_bits=128, host_data_bits=128, group_bursts=8)
_CASE = {"mode": "zvc", "density": 0.5, "bytes": 1 << 16, "descriptors": 1, "memory_latency": 30}


@pytest.mark.verilator
@pytest.mark.slow
def test_groups_make_up_for_what_a_dram_loses_in_turns() -> None:
    pytest.importorskip("litedram")
    asked = [{"direction": way} | _CASE for way in ("offload", "prefetch", "both")]
    cases = [*asked, asked[2] | {"groups": 0}]
    offload, prefetch, *rows = measure_on_dram("ddr3", EngineDesign(_CONFIG), cases)
    # The latency of the first and the last byte of 64 KiB is some per cent of its time.
    assert offload["of_run"] > 0.94
    assert prefetch["of_run"] > 0.94
    grouped, alternating = rows[:2], rows[2:]
    assert all(row["of_dram"] > 0.7 for row in grouped)
    assert all(row["of_dram"] < 0.55 for row in alternating)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (replace(_CONFIG, dev_data_bits=256), "dev-data-bits is 256; the port of ddr3 has 128"),
        (replace(_CONFIG, clocks="host"), "everything has the controller's clock"),
    ],
)
def test_an_engine_that_does_not_fit_is_refused(config: EngineConfig, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_dram("ddr3", EngineDesign(config))
