"""The printed Verilog is the netlist that it was printed from: Yosys proves it for every module."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from cdma.hdl.codec.generate import codec_shell
from cdma.hdl.engine.engine import engine_shell
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.emit import netlist
from cdma.hdl.verilog.printer.design import print_design
from cdma.hdl.verilog.shell import Shell
from cdma.synth.yosys import find_yosys

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

#: Memories become registers of the same names on both sides. Wires of the same name are compared.
_SCRIPT = """\
read_rtlil gold.il
hierarchy -top top
flatten
memory_map
opt_clean
rename top gold
design -stash gold
read_verilog gate.v
hierarchy -check -top top
proc
flatten
opt_clean
memory_collect
memory_map
opt_clean
rename top gate
design -stash gate
design -copy-from gold gold
design -copy-from gate gate
equiv_make gold gate equiv
cd equiv
equiv_simple
equiv_induct
equiv_status -assert
"""


def _prove(folder: Path, rtlil: str, verilog: str) -> None:
    """Raises ``ToolError`` unless ``verilog`` is the logic of ``rtlil``."""
    (folder / "gold.il").write_text(rtlil)
    (folder / "gate.v").write_text(verilog)
    find_yosys().run(_SCRIPT, folder)


@pytest.fixture(scope="module", params=_SHELLS)
def printed(request: pytest.FixtureRequest) -> tuple[str, str]:
    shell = _SHELLS[request.param]()
    rtlil = netlist(shell, "top", prefix="top_", init=False)
    ports = [port.name for port in shell.ports()]
    design = print_design(rtlil, top="top", ports=ports, prefix="top_", wrap=False)
    return rtlil, "\n".join(line for module in design.modules for line in module)


@pytest.mark.slow
def test_it_is_the_same_logic(printed: tuple[str, str], tmp_path: Path) -> None:
    _prove(tmp_path, *printed)
