"""Sideband signals: which values there are, and which ports they give."""

from __future__ import annotations

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.engine.engine import engine_ports
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.sideband import Sideband


def test_settings_come_back():
    config = EngineConfig(sideband=Sideband(ring_axcache=15, axprot=2, axuser_bits=5, axuser=9))
    assert config.settings()["ring_axcache"] == 15
    assert EngineConfig.from_settings(config.settings()) == config


@pytest.mark.parametrize("bits", [0, 1, 64])
@pytest.mark.parametrize("units", [1, 2])
def test_user_ports_are_as_wide_as_asked_for(bits, units):
    config = EngineConfig(units=units, sideband=Sideband(axuser_bits=bits))
    found = {port.name: port.width for port in engine_ports(config) if port.name.endswith("user")}
    names = [f"m_axi_{name}_{way}user" for name in (*config.dev_ports, "host") for way in ("aw", "ar")]
    assert found == (dict.fromkeys(names, bits) if bits else {})


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"dev_axcache": 4}, "dev_axcache is 4"),
        ({"ring_axcache": 16}, "ring_axcache is 16"),
        ({"axprot": 8}, "axprot is 8"),
        ({"axqos": -1}, "axqos is -1"),
        ({"axuser_bits": 65}, "axuser_bits is 65"),
        ({"axuser": 1}, "axuser is 1"),
        ({"axuser_bits": 3, "axuser": 8}, "axuser is 8"),
    ],
)
def test_values_that_axi4_does_not_have_are_refused(setting, says):
    with pytest.raises(ParameterError, match=says):
        EngineConfig.from_settings(setting)
