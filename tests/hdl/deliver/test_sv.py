"""The files for a design in SystemVerilog: types with the bits of the records, and interfaces that fit the block."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from cdma.hdl.codec.generate import codec_design
from cdma.hdl.deliver.designs import block_ports
from cdma.hdl.deliver.sv_instance import sv_instance
from cdma.hdl.deliver.sv_package import sv_package, sv_package_file
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, Status
from cdma.hdl.spec.stage import StageConfig
from cdma.hdl.verilog.dialect import SYSTEM_VERILOG
from cdma.hdl.verilog.style import Style
from cdma.verif.simulator.toolchain import find_verilator
from tests.support.icarus import needs_icarus
from tests.support.paths import DOCS

_CODEC = CodecConfig(Format(8, 8, 1), lanes=2)

#: What the page says of a report.
_REPORT = {"words_in": (0, 32), "words_out": (32, 32), "literals": (64, 32), "error": (96, 8)}


def _places(record: tuple[object, ...]) -> dict[str, tuple[int, int]]:
    """The lowest bit and the bits of each field."""
    places, low = {}, 0
    for field in record:
        name = "interrupt_" if field.name == "interrupt" else field.name  # type: ignore[attr-defined]
        places[name] = low, field.bits  # type: ignore[attr-defined]
        low += field.bits  # type: ignore[attr-defined]
    return places


_RECORDS: Mapping[str, tuple[str, object, Mapping[str, tuple[int, int]]]] = {
    "descriptor_t": ("engine", EngineConfig(), _places(DESCRIPTOR)),
    "completion_t": ("engine", EngineConfig(), _places(COMPLETION)),
    "report_t": ("decompressor", _CODEC, _REPORT),
}


@needs_icarus
@pytest.mark.parametrize("kind", _RECORDS)
def test_a_structure_has_the_bits_of_the_record(kind: str, tmp_path: Path) -> None:
    """Each field alone is all ones, and the whole is printed."""
    block, config, places = _RECORDS[kind]
    (tmp_path / "types.sv").write_text(sv_package(block, config, "mine"))  # type: ignore[arg-type]
    width = sum(bits for _, bits in places.values())
    rows = "".join(
        f"bits = {width}'d0; bits[{low} +: {size}] = ~{size}'d0; whole = bits; "
        f'$display("{name} %b", &whole.{name}); bits = ~bits; whole = bits; $display("{name} %b", |whole.{name});\n'
        for name, (low, size) in places.items()
    )
    (tmp_path / "bench.sv").write_text(
        f"module bench; import mine_pkg::*; {kind} whole; logic [{width - 1}:0] bits; initial begin\n{rows}"
        f'$display("bits %0d", $bits({kind})); end endmodule\n'
    )
    command = ["iverilog", "-g2012", "-o", "bench", "types.sv", "bench.sv"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    said = subprocess.run(["vvp", "bench"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    expected = [line for name in places for line in (f"{name} 1", f"{name} 0")]
    assert said.splitlines() == [*expected, f"bits {width}"]


def test_values_have_their_names() -> None:
    text = sv_package("engine", EngineConfig(), "mine")
    assert all(f"STATUS_{status.name} = 8'd{status.value}" in text for status in Status)
    assert "package mine_pkg;" in text
    assert sv_package("dequantiser", StageConfig(), "mine") == ""
    assert "count;" in sv_package("quantiser", StageConfig(), "mine")


@pytest.mark.verilator
def test_the_page_fills_a_descriptor(tmp_path: Path) -> None:
    example = (DOCS / "integration.md").read_text().partition("```systemverilog\n")[2].partition("```")[0]
    head, _, body = example.partition("// ...\n")
    ports = "input logic [63:0] from, to, output logic [511:0] whole"
    text = f"module page ({ports});\n{head}{body}assign whole = descriptor;\nendmodule\n"
    (tmp_path / "page.sv").write_text(text)
    (tmp_path / "types.sv").write_text(sv_package("engine", EngineConfig(), "cdma_engine"))
    tool = find_verilator()
    without = [f"-Wno-{rule}" for rule in ("DECLFILENAME", "UNUSEDPARAM", "MULTITOP")]
    command = [*tool.command, "--lint-only", "-Wall", *without, "--quiet", "types.sv", "page.sv"]
    done = subprocess.run(
        command, cwd=tmp_path, env=tool.environment, stdout=-1, stderr=subprocess.STDOUT, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.verilator
def test_interfaces_fit_the_block(tmp_path: Path) -> None:
    tool = find_verilator()
    ports = block_ports("decompressor", _CODEC)
    texts = {
        sv_package_file("mine"): sv_package("decompressor", _CODEC, "mine"),
        "mine.sv": codec_design("decompressor", _CODEC, name="mine", style=Style(SYSTEM_VERILOG)).text,
        "mine_inst.sv": sv_instance("mine", ports),
        # A link of two: what the one gives, the other takes.
        "link.sv": "module link (input logic aclk, input logic aresetn, mine_s_axis_if.receiver s_axis,\n"
        "mine_m_axis_if.transmitter m_axis, mine_s_length_if.receiver s_length,\n"
        "mine_m_report_if.transmitter m_report);\n"
        "mine_interfaces inner (.*);\nendmodule\n",
    }
    for file, text in texts.items():
        (tmp_path / file).write_text(text)

    def said() -> str:
        command = [*tool.command, "--lint-only", "--quiet", "--top-module", "link", *texts]
        return subprocess.run(
            command, cwd=tmp_path, env=tool.environment, stdout=-1, stderr=subprocess.STDOUT, text=True
        ).stdout

    assert said() == ""
    broken = texts["mine_inst.sv"].replace("  logic tlast;\n", "", 1)
    (tmp_path / "mine_inst.sv").write_text(broken)
    assert "tlast" in said()
