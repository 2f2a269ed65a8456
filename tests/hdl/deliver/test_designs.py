"""The Verilog of a block by its name has the ports that are said of it."""

from __future__ import annotations

import re

import pytest

from cdma.hdl.deliver.designs import Config, block_design, block_ports
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import StageConfig

_CODEC = CodecConfig(Format(8, 8), lanes=1)


@pytest.mark.parametrize(
    ("block", "config"),
    [
        ("compressor", _CODEC),
        ("decompressor", _CODEC),
        ("quantiser", StageConfig(lanes=1)),
        ("dequantiser", StageConfig(lanes=1)),
        pytest.param("engine", EngineConfig(registers=False), marks=pytest.mark.slow),
    ],
)
def test_a_block_has_its_ports(block: str, config: Config) -> None:
    text = block_design(block, config, name="mine").text
    head = re.search(r"^module mine ?\((.*?)\);", text, re.MULTILINE | re.DOTALL)
    assert head is not None
    assert set(re.findall(r"\w+", head[1])) >= {port.name for port in block_ports(block, config)}
    assert ("s_length_tdata" in text) == (block == "decompressor")
