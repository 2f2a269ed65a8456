"""Engines whose register maps differ in everything that can differ, for the tests of registers and their texts."""

from __future__ import annotations

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.sideband import Sideband

__all__ = ["CONFIGS", "each_config"]

CONFIGS = {
    "default": EngineConfig(),
    "small": EngineConfig(
        format=Format(word_bits=8, code_bits=4, values=(0, 1)),
        lanes=16,
        dev_data_bits=128,
        host_data_bits=64,
        dev_address_bits=13,
        host_address_bits=32,
        ring_entries=2,
    ),
    "odd": EngineConfig(
        format=Format(word_bits=8, code_bits=2, values=(7,)),
        dev_address_bits=40,
        host_address_bits=33,
        alignment="byte",
        crc=True,
        lossy="bf16",
        sideband=Sideband(axuser_bits=16),
        sideband_registers=True,
        register_protection="privileged",
        open_windows=True,
        memories_protect="secded",
    ),
    "shaped": EngineConfig(
        sideband=Sideband(axuser_bits=16),
        crc=True,
        pages=True,
        lossy="fp32",
        format=Format(word_bits=8),
        sideband_registers=True,
        register_protection="secure",
        dimensions=2,
        stream_id_bits=11,
        substream_id_bits=20,
    ),
    "pairs": EngineConfig(channels=3, crc=True, msi=True),
}
each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
