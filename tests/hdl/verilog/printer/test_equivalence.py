"""The printed Verilog is the netlist that it was printed from: Yosys proves it for every module."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from cdma.hdl.codec.generate import codec_shell
from cdma.hdl.engine.engine import engine_shell
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.shell import Shell
from cdma.verif.proofs.equivalence import Printed, printed
from cdma.verif.proofs.result import FAILED, PROVEN

_CODEC = CodecConfig(Format(8, 16, 2, (0, 7)), lanes=4, runtime_values=True)
_ENGINE = EngineConfig(
    Format(8, 8, 1),
    lanes=2,
    dev_data_bits=64,
    host_data_bits=64,
    dev_address_bits=32,
    host_address_bits=32,
    burst_beats=4,
    latency=4,
    descriptors=2,
    ring_entries=2,
    alignment="word",
)

_SHELLS: dict[str, Callable[[], Shell]] = {
    "compressor": lambda: codec_shell("compressor", _CODEC),
    "decompressor": lambda: codec_shell("decompressor", _CODEC),
    "pipelined_compressor": lambda: codec_shell("compressor", dataclasses.replace(_CODEC, pipelined=True)),
    "pipelined_decompressor": lambda: codec_shell(
        "decompressor", dataclasses.replace(_CODEC, pipelined=True)
    ),
    "engine": lambda: engine_shell(_ENGINE),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _SHELLS)
def test_it_is_the_same_logic(name: str) -> None:
    status, bits, detail = printed(_SHELLS[name]()).compare(1800)
    assert (status, detail) == (PROVEN, "")
    assert bits > 100


def test_another_logic_is_found() -> None:
    sides = printed(_SHELLS["compressor"]())
    broken = sides.verilog.replace(" & ", " | ", 1)
    assert broken != sides.verilog
    status, _, detail = Printed(sides.netlist, broken).compare(60)
    assert status == FAILED
    assert "unproven" in detail
