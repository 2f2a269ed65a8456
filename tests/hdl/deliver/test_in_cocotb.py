"""The first bench in cocotb: it runs as it says of itself, passes on what is generated, and fails on a faulty block."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.commands.generate import made
from cdma.commands.generate.made import make
from cdma.hdl.deliver.bench.in_cocotb import cocotb_bench
from cdma.hdl.deliver.block import Config
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import Quantisation, StageConfig
from cdma.hdl.verilog.emit import Verilog
from tests.support.simulate import needs_icarus
from tests.support.thorough import cases_of
from tests.support.verilog_designs import asked_for

pytestmark = [needs_icarus, pytest.mark.slow]

_ENGINE = EngineConfig(
    Format(16, 32, 2, (5, 0)),
    lanes=4,
    dev_data_bits=64,
    host_data_bits=64,
    latency=16,
    descriptors=2,
    crc=True,
)
_UNITS = EngineConfig(
    Format(8),
    lanes=8,
    units=2,
    stripe_bytes=256,
    dev_data_bits=64,
    host_data_bits=128,
    latency=16,
    descriptors=2,
)
_TABLE = CodecConfig(Format(8, 8, 2, (7, 0)), lanes=2, runtime_values=True)
_CASES: dict[str, tuple[str, Config]] = {
    "engine": ("engine", _ENGINE),
    "engine_units": ("engine", _UNITS),
    "compressor": ("compressor", CodecConfig()),
    "compressor_half_bytes": ("compressor", CodecConfig(Format(4), lanes=8)),
    "decompressor": ("decompressor", _TABLE),
    "quantiser": ("quantiser", StageConfig(Quantisation("fp16", 4), lanes=4)),
    "dequantiser": ("dequantiser", StageConfig(Quantisation("bf16"), lanes=2)),
}


def _written(folder: Path, block: str, config: Config) -> Path:
    """The Verilog of a block and its bench in a folder; the bench's file."""
    asked = asked_for(block)
    given = make(asked, config).block
    text = cocotb_bench(given)
    assert text is not None
    (folder / "mine.v").write_text(given.design.text)
    (folder / "mine_cocotb.py").write_text(text)
    return folder / "mine_cocotb.py"


def _run(bench: Path) -> tuple[int, str]:
    """The status and the output of the command that the bench prints of itself."""
    command = re.search(r"^    python (\S+)$", bench.read_text(), re.MULTILINE)
    assert command
    # Below pytest cocotb's runner does not come back from a test that fails.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    done = subprocess.run(
        [sys.executable, command[1]],
        cwd=bench.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stderr + done.stdout


@pytest.mark.parametrize(("block", "config"), cases_of(_CASES, {"engine_units", "compressor_half_bytes"}))
def test_it_passes_on_what_is_generated(block: str, config: Config, tmp_path: Path) -> None:
    status, said = _run(_written(tmp_path, block, config))
    assert status == 0, said
    assert said.splitlines()[-1] == "PASS: mine, 1 tests"


@pytest.mark.parametrize(
    ("block", "pin", "instead", "said"),
    [
        ("compressor", "m_axis_tdata", "m_axis_tdata_right ^ 256'h1", "a packet of 113 words came out wrong"),
        pytest.param(
            *("engine", "m_axi_dev_wdata", "m_axi_dev_wdata_right ^ 64'h1", "AssertionError"),
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_it_fails_on_a_faulty_block(block: str, pin: str, instead: str, said: str, tmp_path: Path) -> None:
    bench = _written(tmp_path, *_CASES[block])
    verilog = (tmp_path / "mine.v").read_text()
    head, top, body = verilog.rpartition("\nmodule mine (")
    declared = re.search(rf"output +(wire|reg) +(\[\d+:0\]) +{pin}\b", body)
    assert declared
    # The port is driven by another net, of which the fault makes it.
    ports, ending, inside = body.partition(");")
    inside = re.sub(rf"\b{pin}\b", f"{pin}_right", inside)
    ports = ports.replace(declared[0], f"output wire {declared[2]} {pin}")
    net = f"\n{declared[1]} {declared[2]} {pin}_right;\nassign {pin} = {instead};\n"
    (tmp_path / "mine.v").write_text(f"{head}{top}{ports}{ending}{net}{inside}")
    status, output = _run(bench)
    assert status == 1
    assert said in output
    assert output.splitlines()[-1] == "FAIL: mine"


def test_an_engine_that_no_driver_drives_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "block_design", lambda *_, **__: Verilog("", ()))
    assert cocotb_bench(make(asked_for("engine"), EngineConfig(registers=False)).block) is None
