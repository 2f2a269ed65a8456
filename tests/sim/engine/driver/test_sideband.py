"""What the ports say beside addresses, set through the Python driver and refused where it cannot be."""

from __future__ import annotations

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.sideband import Sideband
from cdma.sim.engine.driver import DriverError
from tests.support.model_bench import ModelBench

WITH = EngineConfig(
    ring_entries=16, sideband=Sideband(host_axcache=15, axuser_bits=4, axuser=2), sideband_registers=True
)


def test_each_field_of_each_target_and_channel() -> None:
    bench = ModelBench(WITH)
    registers = bench.driver.registers
    assert registers.fields("offload.host_sideband") == {"cache": 15, "prot": 0, "qos": 0, "user": 2}
    bench.driver.offload.set_sideband("host", cache=7, prot=2, qos=9, user=11)
    bench.driver.prefetch.set_sideband("dev", qos=1)
    bench.driver.prefetch.set_sideband("ring", cache=15)
    assert registers.fields("offload.host_sideband") == {"cache": 7, "prot": 2, "qos": 9, "user": 11}
    assert registers.fields("prefetch.dev_sideband") == {"cache": 3, "prot": 0, "qos": 1, "user": 0}
    assert registers.fields("prefetch.ring_sideband") == {"cache": 15, "prot": 0, "qos": 0, "user": 0}
    assert registers.fields("offload.ring_sideband") == {"cache": 3, "prot": 0, "qos": 0, "user": 2}
    assert registers.fields("prefetch.host_sideband")["cache"] == 15
    assert registers.fields("offload.dev_sideband")["qos"] == 0


@pytest.mark.parametrize(
    ("target", "values", "message"),
    [
        ("link", {}, "target is 'link'"),
        ("host", {"cache": 16}, "cache is 16; 0, 1, 2"),
        ("ring", {"cache": 4}, "cache is 4; 0, 1, 2"),
        ("host", {"prot": -1}, "prot is -1; 0 to 7"),
        ("host", {"user": 16}, "user is 16; 0 to 15"),
        ("dev", {"qos": 16}, "qos is 16; 0 to 15"),
    ],
)
def test_refusals(target: str, values: dict[str, int], message: str) -> None:
    bench = ModelBench(WITH)
    with pytest.raises(DriverError, match=message):
        bench.driver.offload.set_sideband(target, **values)


def test_an_engine_without_refuses() -> None:
    with pytest.raises(DriverError, match="sideband"):
        ModelBench(EngineConfig(ring_entries=16)).driver.offload.set_sideband("dev")
